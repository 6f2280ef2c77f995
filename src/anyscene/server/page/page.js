// The page: a photo, a slider for time, and labels that follow it.

import * as api from "./api.js";
import { budgetOf, drawCurve, drawLegend, drawSteps, drawTicks, placeOf, spelled } from "./charts.js";
import { Pane } from "./pane.js";
import { Webcam } from "./webcam.js";

const LARGEST_SIDE = 1280; // larger photos are scaled down before they are sent, so that the slider stays live
const EXAMPLES = [
  ["street-day.jpg", "A street in clear weather, drawn by anyscene"],
  ["street-yellow.jpg", "A street with yellow houses, drawn by anyscene"],
  ["street-corner.jpg", "A street corner, drawn by anyscene"],
  ["temple.jpg", "A temple by a lake; photo by over.net, CC BY 2.0, from scikit-learn"],
];

const $ = (id) => document.getElementById(id);
// frame: the last one of the webcam that is shown. choice: the picture that was chosen last.
const state = { models: [], picture: null, frame: null, choice: null, hidden: new Set(), focus: null, points: new Map() };

const spoken = (text) => ($("spoken").textContent = text);
const first = makeSide("pane-a", "budget");
const second = makeSide("pane-b", "budget-b");
const webcam = new Webcam(showFrame, frameRefused, webcamEnded);

/** One pane with its slider; at most one request is on its way, and after it the latest wish is sent. */
function makeSide(pane, slider) {
  return { pane: new Pane($(pane), spoken), slider: $(slider), value: $(`${slider}-value`), isBusy: false, isStale: false, retry: null };
}

const isComparing = () => $("compare").getAttribute("aria-pressed") === "true";
const budgetFor = (side) => Number(budgetOf(Number(side.slider.value)).toPrecision(3));
const modelFor = (side) => state.models.find((model) => model.name === side.pane.select.value) || state.models[0];

// --- messages

let noticeTimer = null;
function notice(message, seconds = 8) {
  clearTimeout(noticeTimer);
  $("notice").textContent = message || "";
  $("notice").hidden = !message;
  if (message && seconds) noticeTimer = setTimeout(() => notice(null), seconds * 1000);
}

async function explain(error, again) {
  if (error instanceof api.Refused && error.status === 401) {
    await askForToken();
    again();
  } else if (error instanceof api.Refused && error.retry) {
    const isBusy = error.status === 429;
    notice(`${isBusy ? "The server is busy" : error.message.replace(/\.$/, "")}; trying again in ${error.retry} s.`, error.retry + 1);
    return error.retry;
  } else {
    notice(error.message);
  }
  return null;
}

function askForToken() {
  const dialog = $("token-dialog");
  return new Promise((done) => {
    dialog.addEventListener("close", () => { api.setToken($("token").value); done(); }, { once: true });
    if (!dialog.open) dialog.showModal();
  });
}

// --- labeling

async function relabel(side) {
  if (!state.picture || webcam.isOn) return;
  if (side.isBusy) {
    side.isStale = true;
    return;
  }
  side.isBusy = true;
  side.isStale = false;
  clearTimeout(side.retry);
  const slow = setTimeout(() => (side.pane.working.hidden = false), 250);
  const { blob } = state.picture;
  const budget = budgetFor(side);
  try {
    const found = await api.label(blob, modelFor(side).name, budget);
    if (state.picture?.blob === blob) show(side, found, budget);
  } catch (error) {
    const wait = await explain(error, () => relabel(side));
    if (wait) side.retry = setTimeout(() => relabel(side), wait * 1000);
  } finally {
    clearTimeout(slow);
    side.pane.working.hidden = true;
    side.isBusy = false;
    if (side.isStale) relabel(side);
  }
}

function show(side, found, budget) {
  side.found = found;
  paint(side);
  const sure = Math.round(100 * found.summary.mean_confidence);
  const isPrior = found.summary.is_prior;
  side.pane.verdict.textContent = isPrior
    ? `no time for a look: the most frequent class everywhere`
    : `labelled in ${spelled(found.summary.cost_ms)} of ${spelled(budget)} · ${sure} % sure`;
  if (side !== first) return compareVerdict();
  for (const id of ["save-png", "save-json"]) $(id).disabled = webcam.isOn;
  $("side").hidden = false;
  document.querySelector("main").classList.remove("plain");
  if (!webcam.isOn) state.points.set(budget, found.summary.mean_confidence);
  $("curve-card").hidden = state.points.size < 2;
  drawCurve($("curve"), state.points, budget);
  drawSteps($("bar"), $("steps"), found);
  legend();
  compareVerdict();
}

function compareVerdict() {
  const [a, b] = [first.found, second.found];
  if (!isComparing() || !a || !b || a.labels.length !== b.labels.length || modelFor(first) !== modelFor(second)) return;
  let differing = 0;
  for (let index = 0; index < a.labels.length; index++) differing += a.labels[index] !== b.labels[index];
  const share = ((100 * differing) / a.labels.length).toFixed(1);
  second.pane.verdict.textContent = second.pane.verdict.textContent.replace(/ · [\d.]+ % of pixels differ$/, "") + ` · ${share} % of pixels differ`;
}

function paint(side) {
  // Classes are toggled by name, so that a second model follows where it has the same ones.
  const { classes } = modelFor(side);
  const hidden = new Set(classes.filter((one) => state.hidden.has(one.name)).map((one) => one.id));
  const focus = classes.find((one) => one.name === state.focus)?.id ?? null;
  if (side.found) side.pane.draw(side.found, classes, hidden, focus);
}

function legend() {
  const { classes } = modelFor(first);
  const hidden = new Set(classes.filter((one) => state.hidden.has(one.name)).map((one) => one.id));
  const nameOf = (id) => (id === null ? null : classes[id].name);
  drawLegend($("legend"), classes, first.found.summary, hidden, {
    toggle: (id) => {
      if (!state.hidden.delete(nameOf(id))) state.hidden.add(nameOf(id));
      legend();
      repaint();
    },
    focus: (id) => {
      if (state.focus === nameOf(id)) return;
      state.focus = nameOf(id);
      repaint();
    },
  });
}

function repaint() {
  paint(first);
  if (isComparing()) paint(second);
}

// --- pictures

async function open(blob) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(blob);
  } catch {
    notice(`${blob.name ? `“${blob.name}”` : "This"} is no picture that can be read. Use a PNG, JPEG or WebP file.`);
    return;
  }
  webcam.stop();
  const scale = Math.min(1, LARGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  notice(null);
  await choose(canvas, (blob.name || "photo").replace(/\.[^.]*$/, ""));
}

/** Make what a canvas shows the picture that is labelled from now on. */
async function choose(canvas, name) {
  state.choice = canvas;
  const blob = await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.93));
  if (state.choice !== canvas) return; // another one was chosen meanwhile
  state.picture = { blob, name };
  state.points.clear();
  for (const side of [first, second]) {
    side.found = null;
    side.pane.clear();
    side.pane.showPhoto(canvas);
  }
  $("welcome").hidden = true;
  $("panes").hidden = false;
  relabel(first);
  if (isComparing()) relabel(second);
}

async function openExample(file) {
  try {
    await open(await (await fetch(`/page/${file}`)).blob());
  } catch {
    notice("The example could not be loaded.");
  }
}

function showFrame(frame, found) {
  state.frame = frame;
  state.picture = state.choice = null; // it is not in view any more
  $("welcome").hidden = true;
  $("panes").hidden = false;
  first.pane.showPhoto(frame);
  show(first, found, budgetFor(first));
  const now = performance.now();
  const pause = now - (showFrame.last || now);
  showFrame.last = now;
  showFrame.mean = 0.9 * (showFrame.mean || pause) + 0.1 * pause;
  if (showFrame.mean) first.pane.verdict.textContent += ` · ${(1000 / showFrame.mean).toFixed(0)} frames/s`;
  if (found.age) first.pane.verdict.textContent += ` · last look ${spelled(found.age)} ago`;
}

function frameRefused(message) {
  if ($("notice").hidden) notice(message, 2);
}

/** The last frame stays, as a photo. */
function webcamEnded(message) {
  $("webcam").setAttribute("aria-pressed", "false");
  if (message) notice(message);
  if (state.frame) choose(state.frame, "webcam");
  state.frame = null;
}

async function toggleWebcam() {
  if (webcam.isOn) return webcam.stop();
  if (isComparing()) toggleCompare();
  state.points.clear();
  try {
    await webcam.start(modelFor(first).name, budgetFor(first));
    $("webcam").setAttribute("aria-pressed", "true");
  } catch (error) {
    notice(error.message);
  }
}

// --- controls

function budgetMoved(side) {
  const text = spelled(budgetFor(side));
  side.value.textContent = text;
  side.slider.setAttribute("aria-valuetext", text);
  if (side === first && webcam.isOn) {
    clearTimeout(budgetMoved.timer);
    budgetMoved.timer = setTimeout(() => webcam.connect(modelFor(first).name, budgetFor(first)), 150);
  } else if (side === first || isComparing()) relabel(side);
}

function toggleCompare() {
  const on = !isComparing();
  $("compare").setAttribute("aria-pressed", String(on));
  $("pane-b").hidden = $("second-row").hidden = !on;
  if (on) webcam.stop();
  if (on) relabel(second);
}

async function save(format, suffix) {
  try {
    const file = await api.download(state.picture.blob, modelFor(first).name, budgetFor(first), format);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = `${state.picture.name}.labels.${suffix}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  } catch (error) {
    explain(error, () => save(format, suffix));
  }
}

function setOpacity() {
  for (const side of [first, second]) side.pane.overlay.style.opacity = String(Number($("opacity").value) / 100);
}

function listen() {
  $("open").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => { if ($("file").files[0]) open($("file").files[0]); $("file").value = ""; });
  $("webcam").addEventListener("click", toggleWebcam);
  $("compare").addEventListener("click", toggleCompare);
  $("opacity").addEventListener("input", setOpacity);
  $("save-png").addEventListener("click", () => save("ids", "png"));
  $("save-json").addEventListener("click", () => save("json", "json"));
  $("all").addEventListener("click", () => { state.hidden.clear(); if (first.found) legend(); repaint(); });
  for (const side of [first, second]) {
    side.slider.addEventListener("input", () => budgetMoved(side));
    side.pane.select.addEventListener("change", () => {
      side.found = null;
      if (side === first) state.points.clear();
      budgetMoved(side);
    });
  }
  document.addEventListener("paste", (event) => {
    const file = [...(event.clipboardData?.files || [])][0];
    if (file) open(file);
  });
  let depth = 0;
  const dragging = (change) => {
    depth = Math.max(0, depth + change);
    document.body.classList.toggle("dragging", depth > 0);
  };
  document.addEventListener("dragenter", () => dragging(1));
  document.addEventListener("dragleave", () => dragging(-1));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    dragging(-depth);
    const file = event.dataTransfer.files[0];
    if (file) open(file);
    else notice("Drop a picture file.");
  });
}

function drawExamples() {
  for (const [file, text] of EXAMPLES) {
    const button = document.createElement("button");
    const image = new Image();
    button.type = "button";
    button.title = image.alt = text;
    image.addEventListener("error", () => button.remove());
    image.src = `/page/${file}`;
    button.append(image);
    button.addEventListener("click", () => openExample(file));
    $("examples").append(button);
  }
}

async function start() {
  document.querySelector("main").classList.add("plain");
  drawTicks(document.querySelector(".ticks"));
  drawExamples();
  listen();
  setOpacity();
  first.slider.value = placeOf(20);
  second.slider.value = placeOf(3);
  for (const side of [first, second]) budgetMoved(side);
  await loadModels();
}

async function loadModels() {
  try {
    state.models = await api.models();
  } catch (error) {
    const wait = await explain(error, loadModels);
    if (wait) setTimeout(loadModels, wait * 1000);
    return;
  }
  for (const side of [first, second]) {
    side.pane.select.replaceChildren(...state.models.map((model) => new Option(model.name, model.name, model.default, model.default)));
  }
  if (state.picture) relabel(first);
}

start();
