// What pages add where a browser runs scripts: news without a reload, fragments in their place,
// keys. All of it also works without. Text from the server is HTML that the server has escaped.
"use strict";

const live = document.getElementById("live");

async function fragment(address, mark) {
  const headers = mark ? { "If-None-Match": mark } : {};
  const answer = await fetch(address, { headers, credentials: "same-origin" });
  if (answer.status === 304) return null;
  return { text: await answer.text(), mark: answer.headers.get("ETag"), ok: answer.ok };
}

function isTyping(at) {
  return at && (at.tagName === "TEXTAREA" || at.tagName === "SELECT" || at.tagName === "INPUT");
}

async function poll() {
  if (!live || !live.dataset.poll) return;
  const asked = live.querySelector("form.reply");
  try {
    if (!asked && !document.hidden) {
      const found = await fragment(live.dataset.poll, live.dataset.mark);
      if (found && found.ok) {
        live.innerHTML = found.text;
        live.dataset.mark = found.mark;
        prepare(live);
      }
    }
  } catch { /* the studio has ended; the next try says so again */ }
  setTimeout(poll, 700);
}

async function load(link) {
  const place = document.getElementById(link.dataset.into);
  place.setAttribute("aria-busy", "true");
  const found = await fragment(`${link.getAttribute("href")}?part=1`);
  place.innerHTML = found.text;
  place.removeAttribute("aria-busy");
}

function prepare(root) {
  for (const link of root.querySelectorAll("a[data-into]")) {
    link.addEventListener("click", (event) => { event.preventDefault(); load(link); });
    if ("now" in link.dataset) load(link);
  }
  const first = root.querySelector("[autofocus]");
  if (first && !isTyping(document.activeElement)) first.focus();
  const story = root.querySelector(".story");
  if (story) story.scrollTop = story.scrollHeight;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.tagName === "TEXTAREA") {
    event.target.form.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
  if (/^[1-9]$/.test(event.key)) {
    const option = document.querySelectorAll(".options button")[event.key - 1];
    if (option) option.focus();
  }
});

prepare(document);
poll();
