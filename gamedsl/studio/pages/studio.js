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
  setTimeout(poll, Number(live.dataset.every) || 700);
}

async function load(link) {
  const place = document.getElementById(link.dataset.into);
  place.setAttribute("aria-busy", "true");
  const found = await fragment(link.getAttribute("href") + (link.href.includes("?") ? "&" : "?") + "part=1");
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

// The editor: problems as one types, beside their lines; edits that mend them.

function editor(form) {
  const area = form.querySelector("textarea");
  const numbers = form.querySelector(".numbers");
  const problems = form.querySelector("#problems");
  const played = document.getElementById("played");
  let turn = 0;
  let timer = 0;

  function number() {
    const wrong = new Set([...problems.querySelectorAll(".error")].map((one) => Number(one.dataset.line)));
    numbers.replaceChildren();
    area.value.split("\n").forEach((_, at) => {
      const line = document.createElement(wrong.has(at + 1) ? "b" : "span");
      line.textContent = `${wrong.has(at + 1) ? "✗ " : ""}${at + 1}\n`;
      numbers.append(line);
    });
    place();
  }

  function place() {
    numbers.style.height = `${area.clientHeight}px`;
    numbers.scrollTop = area.scrollTop;
    const beside = getComputedStyle(problems).gridColumnStart === "auto";
    const high = parseFloat(getComputedStyle(area).lineHeight);
    let free = 0;
    for (const one of problems.querySelectorAll("li")) {
      one.style.marginTop = "0";
      const wanted = (one.dataset.line - 1) * high - area.scrollTop;
      const gap = Math.min(Math.max(0, wanted - free), area.clientHeight);
      if (beside) one.style.marginTop = `${gap}px`;
      free += gap + one.offsetHeight + 10;
    }
  }

  async function send(address, proof) {
    const body = new URLSearchParams(new FormData(form));
    if (proof) body.set("proof", proof);
    const answer = await fetch(address, { method: "POST", body, credentials: "same-origin" });
    return { text: await answer.text(), ok: answer.ok };
  }

  async function check() {
    const now = ++turn;
    const found = await send(form.dataset.problems);
    if (now !== turn || !found.ok) return;
    problems.innerHTML = found.text;
    ready();
    timer = setTimeout(prove, 600);
  }

  // Proofs take longer: they are asked for once nobody has typed for a while. The plays that are
  // shown follow the text.
  async function prove() {
    if (problems.querySelector(".error")) return;
    const now = turn;
    problems.setAttribute("aria-busy", "true");
    const found = await send(form.dataset.claims);
    if (now !== turn) return;
    problems.removeAttribute("aria-busy");
    if (found.ok) problems.innerHTML = found.text;
    else problems.insertAdjacentHTML("beforeend", found.text);
    ready();
    if (!played.dataset.proof) return;
    const still = [...problems.querySelectorAll("[data-played]")].find((one) => one.value === played.dataset.proof);
    if (still) show(still.value);
    else { played.replaceChildren(); delete played.dataset.proof; }
  }

  async function show(proof) {
    const now = turn;
    const found = await send("/game/played?part=1", proof);
    if (now !== turn || !found.ok) return false;
    played.innerHTML = found.text;
    played.dataset.proof = proof;
    return true;
  }

  function ready() {
    for (const button of problems.querySelectorAll("[data-edits]")) {
      button.hidden = false;
      button.addEventListener("click", () => {
        const signs = [...area.value];
        const edits = JSON.parse(button.dataset.edits).sort((a, b) => b[0] - a[0]);
        for (const [start, end, text] of edits) signs.splice(start, end - start, ...text);
        area.value = signs.join("");
        area.focus();
        number();
        check();
      });
    }
    for (const button of problems.querySelectorAll("[data-played]")) {
      button.addEventListener("click", async (event) => {
        event.preventDefault();
        if (await show(button.value)) { played.focus(); played.scrollIntoView(); }
      });
    }
    for (const link of problems.querySelectorAll("[data-go]")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        const lines = area.value.split("\n").slice(0, link.dataset.go - 1);
        const at = lines.join("\n").length + (lines.length ? 1 : 0);
        area.focus();
        area.setSelectionRange(at, at);
      });
    }
    number();
  }

  area.addEventListener("input", () => { clearTimeout(timer); turn += 1; number(); timer = setTimeout(check, 200); });
  area.addEventListener("scroll", place);
  area.addEventListener("keydown", (event) => {
    if (event.key === "]" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      area.setRangeText("  ", area.selectionStart, area.selectionEnd, "end");
      number();
    }
    if (event.key === "s" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(form.querySelector("[formaction]"));
    }
  });
  addEventListener("resize", place);
  ready();
  timer = setTimeout(prove, 600);
  area.setSelectionRange(0, 0);
}

for (const form of document.querySelectorAll(".editor")) editor(form);

// Fragments that take a while to work out are asked for when they come into sight, two at a time.

const waiting = [];
let busy = 0;

function next() {
  while (busy < 2 && waiting.length) {
    const place = waiting.shift();
    busy += 1;
    fragment(place.dataset.lazy).then((found) => { if (found.ok) place.innerHTML = found.text; })
      .catch(() => {}).finally(() => { busy -= 1; next(); });
  }
}

const sight = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    sight.unobserve(entry.target);
    waiting.push(entry.target);
  }
  next();
});
for (const place of document.querySelectorAll("[data-lazy]")) sight.observe(place);

prepare(document);
poll();
