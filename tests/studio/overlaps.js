() => {
  const boxes = [...document.querySelectorAll("button, a, h1, h2, label, input, select, textarea, td, th, .card")]
    .filter((e) => e.checkVisibility() && !e.matches(".skip, .hidden"))
    .map((e) => [e, e.getBoundingClientRect()]);
  const bad = [];
  for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
    const [[a, x], [b, y]] = [boxes[i], boxes[j]];
    if (a.contains(b) || b.contains(a)) continue;
    const across = Math.min(x.right, y.right) - Math.max(x.left, y.left);
    const down = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top);
    if (across > 1.5 && down > 1.5) bad.push(`${a.textContent.slice(0, 30)} / ${b.textContent.slice(0, 30)}`);
  }
  return bad;
}
