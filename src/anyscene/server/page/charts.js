// The legend, the time line of a request, and the curve of what time bought.

const STAGE_COLORS = { queue: "#94a3b8", decode: "#64748b", encode: "#475569", rest: "#a5b4fc" };
const STEP_COLORS = ["#4657d8", "#0f8a6b", "#c2571a", "#8b3fc7", "#b8860b", "#0e7490", "#be185d"];
const SVG = "http://www.w3.org/2000/svg";

/** Budgets on a logarithmic slider: 0 is 0.5 ms, 1000 is 1 s. */
export const budgetOf = (place) => 0.5 * 2000 ** (place / 1000);
export const placeOf = (budget) => (1000 * Math.log(budget / 0.5)) / Math.log(2000);

export function spelled(ms) {
  if (ms >= 999.5) return `${(ms / 1000).toFixed(ms >= 9995 ? 0 : 1)} s`;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

export function drawTicks(element) {
  for (const ms of [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]) {
    const tick = document.createElement("span");
    tick.textContent = ms === 1000 ? "1 s" : ms === 0.5 ? "0.5 ms" : String(ms);
    tick.style.left = `${placeOf(ms) / 10}%`;
    if ([1, 2, 5, 20, 50, 200, 500].includes(ms)) tick.className = "fine";
    element.append(tick);
  }
}

/** handlers: toggle(id) and focus(id or null). */
export function drawLegend(list, classes, summary, hidden, handlers) {
  const shares = classes.map((one) => ({ ...one, share: summary.shares[one.name] || 0 }));
  const seen = shares.filter((one) => one.share > 0).sort((a, b) => b.share - a.share);
  const focused = document.activeElement?.dataset?.id;
  list.replaceChildren(
    ...seen.map((one) => {
      const button = element("button", { type: "button", "aria-pressed": String(!hidden.has(one.id)), "data-id": one.id });
      const swatch = element("span", { class: "swatch" });
      const fill = element("span", { class: "fill" });
      swatch.style.background = fill.style.background = `rgb(${one.color})`;
      fill.style.width = `${100 * one.share}%`;
      const share = one.share < 0.001 ? "< 0.1 %" : `${(100 * one.share).toFixed(1)} %`;
      button.append(swatch, element("span", { class: "name" }, one.name), element("span", { class: "share" }, share), fill);
      button.addEventListener("click", () => handlers.toggle(one.id));
      for (const name of ["pointerenter", "focus"]) button.addEventListener(name, () => handlers.focus(one.id));
      for (const name of ["pointerleave", "blur"]) button.addEventListener(name, () => handlers.focus(null));
      const item = element("li");
      item.append(button);
      return item;
    }),
  );
  if (focused !== undefined) list.querySelector(`[data-id="${focused}"]`)?.focus({ preventScroll: true });
}

/** Stages of a request and the steps of labeling, one after the other. */
export function drawSteps(bar, list, found) {
  const steps = found.summary.trace.map((step, index) => ({
    name: plain(step.action), ms: step.actual_ms, color: STEP_COLORS[index % STEP_COLORS.length],
  }));
  const spent = steps.reduce((sum, step) => sum + step.ms, 0);
  const { queue = 0, decode = 0, label = 0, encode = 0 } = found.stages;
  const parts = [
    { name: "waiting", ms: queue, color: STAGE_COLORS.queue },
    { name: "decoding", ms: decode, color: STAGE_COLORS.decode },
    ...steps,
    { name: found.age == null ? "painting and the rest" : "following the image and painting", ms: Math.max(0, label - spent), color: STAGE_COLORS.rest },
    { name: "encoding", ms: encode, color: STAGE_COLORS.encode },
  ].filter((part) => part.ms > 0.005);
  const total = parts.reduce((sum, part) => sum + part.ms, 0) || 1;
  bar.replaceChildren(
    ...parts.map((part) => {
      const piece = element("div", { title: `${part.name}: ${part.ms.toFixed(2)} ms` });
      piece.style.background = part.color;
      piece.style.flexGrow = String(part.ms / total);
      return piece;
    }),
  );
  bar.setAttribute("aria-label", parts.map((part) => `${part.name} ${part.ms.toFixed(1)} ms`).join(", "));
  list.replaceChildren(
    ...parts.map((part) => {
      const item = element("li");
      const swatch = element("i");
      swatch.style.background = part.color;
      item.append(swatch, `${part.name} `, element("b", {}, `${part.ms.toFixed(part.ms < 10 ? 2 : 1)} ms`));
      return item;
    }),
  );
}

function plain(action) {
  return action.replace(/ \(chain.*\)/, "").replace("update by ", "look at ").replaceAll("hypercolumn@", "network ");
}

/** points: [budget, confidence] that were seen. */
export function drawCurve(svg, points, budget) {
  const sorted = [...points].sort((a, b) => a[0] - b[0]);
  const low = Math.min(0.5, ...sorted.map((point) => point[1]));
  const x = (ms) => (placeOf(Math.min(1000, Math.max(0.5, ms))) / 1000) * 600;
  const y = (value) => 86 - ((value - low) / (1 - low || 1)) * 82;
  const path = sorted.map(([ms, value]) => `${x(ms).toFixed(1)},${y(value).toFixed(1)}`);
  const nodes = [0, 0.5, 1].map((part) => shape("line", { class: "grid", x1: 0, x2: 600, y1: 4 + 82 * part, y2: 4 + 82 * part }));
  if (path.length > 1) {
    nodes.push(shape("polygon", { class: "area", points: `${x(sorted[0][0])},86 ${path.join(" ")} ${x(sorted.at(-1)[0])},86` }));
    nodes.push(shape("polyline", { class: "line", points: path.join(" ") }));
  }
  nodes.push(shape("line", { class: "here", x1: x(budget), x2: x(budget), y1: 0, y2: 90 }));
  svg.replaceChildren(...nodes);
  const best = sorted.at(-1);
  if (best) svg.setAttribute("aria-label", `Mean confidence is ${Math.round(100 * best[1])} % after ${spelled(best[0])}`);
}

function element(name, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
