"use strict";
// Charts carry their numbers in data-chart: {x: [left, right], steps: [...], series: [[name, percent, values]]}.
(() => {
  const charts = [...document.querySelectorAll("svg[data-chart]")].map((svg) => {
    const data = JSON.parse(svg.dataset.chart);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    line.setAttribute("class", "cursor");
    line.setAttribute("y1", "10");
    line.setAttribute("y2", String(svg.viewBox.baseVal.height - 36));
    line.style.visibility = "hidden";
    svg.append(line);
    const readout = document.createElement("div");
    readout.className = "readout";
    svg.after(readout);
    return { svg, data, line, readout };
  });
  const shown = (value, percent) => value === null ? "none"
    : percent ? (100 * value).toFixed(1) + "%" : String(Number(value.toPrecision(4))).replace("-", "−");
  const nearest = (steps, step) => steps.reduce((best, one, i) =>
    Math.abs(one - step) < Math.abs(steps[best] - step) ? i : best, 0);
  const read = (chart, step) => {
    const { steps, series, x } = chart.data;
    const i = nearest(steps, step), first = steps[0], last = Math.max(steps.at(-1), first + 1);
    const at = x[0] + (steps[i] - first) / (last - first) * (x[1] - x[0]);
    chart.line.setAttribute("x1", at);
    chart.line.setAttribute("x2", at);
    chart.line.style.visibility = "visible";
    chart.readout.textContent = "step " + steps[i] + ": " + series.map(([name, percent, values]) =>
      (name ? name + " " : "") + shown(values[i], percent)).join(", ");
  };
  for (const chart of charts) {
    chart.svg.addEventListener("pointermove", (event) => {
      const box = chart.svg.getBoundingClientRect(), { steps, x } = chart.data;
      const across = (event.clientX - box.left) / box.width * chart.svg.viewBox.baseVal.width;
      const share = Math.min(Math.max((across - x[0]) / (x[1] - x[0]), 0), 1);
      read(chart, steps[0] + share * (Math.max(steps.at(-1), steps[0] + 1) - steps[0]));
    });
  }
  const all = charts.flatMap((chart) => chart.data.steps);
  if (!charts.length || new Set(all).size < 2) return;
  const label = document.createElement("label"), slider = document.createElement("input");
  const text = document.createElement("span");
  label.className = "scrub";
  Object.assign(slider, { type: "range", min: Math.min(...all), max: Math.max(...all), step: 1 });
  slider.value = slider.max;
  text.textContent = "Step through the training";
  slider.addEventListener("input", () => {
    text.textContent = "Step " + slider.value;
    charts.forEach((chart) => read(chart, Number(slider.value)));
  });
  label.append(text, slider);
  charts[0].svg.closest("section").querySelector("h2").after(label);
})();
