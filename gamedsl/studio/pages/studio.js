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

// What a reader has the focus on is there again after the news, if it is still on the page.
function sign(one) {
  return one && live.contains(one) && (one.getAttribute("href") || one.textContent);
}

let shown = "";

async function poll() {
  if (!live || !live.dataset.poll) return;
  const asked = live.querySelector("form.reply");
  try {
    if (!asked && !document.hidden) {
      const found = await fragment(live.dataset.poll, live.dataset.mark);
      if (found && found.ok && found.text !== shown) {
        const focus = sign(document.activeElement);
        live.innerHTML = shown = found.text;
        live.dataset.mark = found.mark;
        prepare(live);
        if (focus) [...live.querySelectorAll("a, button")].find((one) => sign(one) === focus)?.focus();
      }
    }
  } catch { /* the studio has ended; the next try says so again */ }
  setTimeout(poll, Number(live.dataset.every) || 700);
}

async function load(link) {
  const place = document.getElementById(link.dataset.into);
  const held = place.contains(document.activeElement);
  place.setAttribute("aria-busy", "true");
  const found = await fragment(link.getAttribute("href") + (link.href.includes("?") ? "&" : "?") + "part=1");
  place.innerHTML = found.text;
  place.removeAttribute("aria-busy");
  if (held) { place.tabIndex = -1; place.focus(); }  // the link that had the focus is gone
}

function prepare(root) {
  for (const link of root.querySelectorAll("a[data-into]")) {
    link.addEventListener("click", (event) => { event.preventDefault(); load(link); });
    if ("now" in link.dataset) load(link);
  }
  const first = root.querySelector("[autofocus]");
  if (first && !isTyping(document.activeElement) && !document.querySelector(":target")) first.focus();
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

// Its colours: keys, comments, quoted texts and numbers. They are drawn behind the textarea, which
// stays what is typed into, undone and read out; its own letters are transparent.

const SIGNS = /((?<=^|\s)#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|([\w.-]+(?=\s*:(?:\s|$)))|((?<![\w.-])\d+(?:[./]\d+)?(?![\w.-]))/g;
const KINDS = ["comment", "quoted", "key", "number"];
const MOST_PAINTED = 2000;

function paintLines(lines, place) {
  let block = -1; // the indentation of what begins a text of several lines, which has no signs
  place.replaceChildren();
  for (const line of lines) {
    const indent = line.search(/\S/);
    if (block >= 0 && (indent < 0 || indent > block)) { place.append(`${line}\n`); continue; }
    block = /[:-]\s+[|>][-+\d]*\s*$/.test(line) ? indent : -1;
    let at = 0;
    for (const found of line.matchAll(SIGNS)) {
      const sign = document.createElement("span");
      sign.className = KINDS[found.slice(1).findIndex((one) => one !== undefined)];
      sign.textContent = found[0];
      place.append(line.slice(at, found.index), sign);
      at = found.index + found[0].length;
    }
    place.append(`${line.slice(at)}\n`);
  }
}

function editor(form) {
  const area = form.querySelector("textarea");
  const paint = form.querySelector(".paint");
  const numbers = form.querySelector(".numbers");
  const problems = form.querySelector("#problems");
  const played = document.getElementById("played");
  let turn = 0;
  let timer = 0;

  function number() {
    const wrong = new Set([...problems.querySelectorAll(".error")].map((one) => Number(one.dataset.line)));
    const lines = area.value.split("\n");
    const isPainted = lines.length <= MOST_PAINTED;
    form.classList.toggle("painted", isPainted);
    paintLines(isPainted ? lines : [], paint);
    numbers.replaceChildren();
    lines.forEach((_, at) => {
      const line = document.createElement(wrong.has(at + 1) ? "b" : "span");
      line.textContent = `${wrong.has(at + 1) ? "✗ " : ""}${at + 1}\n`;
      numbers.append(line);
    });
    place();
  }

  function place() {
    numbers.style.height = `${area.clientHeight}px`;
    numbers.scrollTop = area.scrollTop;
    paint.style.height = `${area.clientHeight + 2}px`;
    paint.style.width = `${area.clientWidth + 2}px`;
    paint.scrollTo(area.scrollLeft, area.scrollTop);
    const beside = getComputedStyle(problems).gridRowStart === "1";
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

  async function send(address, more) {
    const body = new URLSearchParams(new FormData(form));
    for (const [name, value] of Object.entries(more || {})) body.set(name, value);
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
    if (still) show(still.value, played.dataset.move);
    else { played.replaceChildren(); delete played.dataset.proof; delete played.dataset.move; }
  }

  // Without a `move` the plays are shown at their end, which moves as the text does.
  async function show(proof, move) {
    const now = turn;
    const found = await send("/game/played?part=1", move ? { stepping: proof, move } : { proof });
    if (now !== turn || !found.ok) return false;
    played.innerHTML = found.text;
    played.dataset.proof = proof;
    if (move) played.dataset.move = move;
    else delete played.dataset.move;
    return true;
  }

  played.addEventListener("click", async (event) => {
    const asked = event.target.closest("button[name=move]");
    if (!asked) return;
    event.preventDefault();
    if (!await show(played.querySelector("[name=stepping]").value, asked.value)) return;
    const same = [...played.querySelectorAll("button[name=move]")];
    (same.find((one) => one.textContent === asked.textContent) || same[0]).focus();
  });

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
  new ResizeObserver(place).observe(area);
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
