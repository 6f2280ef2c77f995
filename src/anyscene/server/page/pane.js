// One picture with its labels on top: drawing, toggled classes, and the probe under the pointer.

export const VOID = 255;

const GAP = 12; // pixels between the pointer and the probe

// Where the probe begins: after the pointer, or before it where it would not fit.
function beside(at, size, room) {
  return at + GAP + size <= room ? at + GAP : Math.max(0, at - GAP - size);
}

export class Pane {
  constructor(root, onProbe) {
    this.root = root;
    this.photo = root.querySelector(".photo");
    this.overlay = root.querySelector(".labels");
    this.probe = root.querySelector(".probe");
    this.verdict = root.querySelector(".verdict");
    this.select = root.querySelector(".model");
    this.working = root.querySelector(".working");
    this.found = null;
    this.classes = [];
    this.onProbe = onProbe;
    this.at = null;
    this.overlay.addEventListener("pointermove", (event) => this.follow(event));
    this.overlay.addEventListener("pointerdown", (event) => this.follow(event));
    this.overlay.addEventListener("pointerleave", () => this.hideProbe());
    this.overlay.addEventListener("blur", () => this.hideProbe());
    this.overlay.addEventListener("keydown", (event) => this.step(event));
  }

  showPhoto(bitmap) {
    this.photo.width = bitmap.width;
    this.photo.height = bitmap.height;
    this.root.style.setProperty("--aspect", String(bitmap.width / bitmap.height));
    this.photo.getContext("2d").drawImage(bitmap, 0, 0);
  }

  /** Show labels. hidden: ids that are not drawn. focus: the only id that is drawn strongly, or null. */
  draw(found, classes, hidden, focus) {
    this.found = found;
    this.classes = classes;
    const { width, height, labels } = found;
    if (this.overlay.width !== width || this.overlay.height !== height) {
      this.overlay.width = width;
      this.overlay.height = height;
    }
    const colors = new Uint32Array(256);
    const edges = new Uint32Array(256);
    classes.forEach(({ id, color: [red, green, blue] }) => {
      if (hidden.has(id)) return;
      const plain = (blue << 16) | (green << 8) | red;
      const alpha = focus === null || focus === id ? 255 : 60;
      colors[id] = ((alpha << 24) | plain) >>> 0;
      edges[id] = ((alpha << 24) | (scaled(blue) << 16) | (scaled(green) << 8) | scaled(red)) >>> 0;
    });
    const pixels = new Uint32Array(width * height);
    for (let index = 0; index < pixels.length; index++) {
      const own = labels[index];
      const isEdge = own !== labels[index + 1] || own !== labels[index + width];
      pixels[index] = isEdge ? edges[own] : colors[own];
    }
    const image = new ImageData(new Uint8ClampedArray(pixels.buffer), width, height);
    this.overlay.getContext("2d").putImageData(image, 0, 0);
    if (this.at) this.tell();
  }

  clear() {
    this.found = null;
    this.overlay.getContext("2d").clearRect(0, 0, this.overlay.width, this.overlay.height);
    this.verdict.textContent = "";
    this.hideProbe();
  }

  follow(event) {
    const box = this.overlay.getBoundingClientRect();
    this.at = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    this.tell();
  }

  step(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const move = moves[event.key];
    if (!move || !this.found) return;
    event.preventDefault();
    const [x, y] = this.at || [0.5, 0.5];
    const far = event.shiftKey ? 0.1 : 0.02;
    this.at = [clamp(x + far * move[0]), clamp(y + far * move[1])];
    this.tell(true);
  }

  tell(aloud = false) {
    if (!this.found) return;
    const { width, height, labels, confidence } = this.found;
    const [x, y] = this.at;
    const column = Math.min(width - 1, Math.max(0, Math.floor(x * width)));
    const row = Math.min(height - 1, Math.max(0, Math.floor(y * height)));
    const id = labels[row * width + column];
    const known = this.classes[id];
    const name = id === VOID || !known ? "nothing known" : known.name;
    const sure = Math.round((confidence[row * width + column] / 255) * 100);
    const swatch = document.createElement("i");
    if (known) swatch.style.background = `rgb(${known.color})`;
    this.probe.replaceChildren(swatch, `${name} · ${sure} % sure`);
    this.probe.hidden = false;
    const room = this.probe.parentElement;
    this.probe.style.left = `${beside(x * room.clientWidth, this.probe.offsetWidth, room.clientWidth)}px`;
    this.probe.style.top = `${beside(y * room.clientHeight, this.probe.offsetHeight, room.clientHeight)}px`;
    if (aloud) this.onProbe(`${name}, ${sure} percent sure`);
  }

  hideProbe() {
    this.at = null;
    this.probe.hidden = true;
  }
}

function scaled(value) {
  return Math.round(value * 0.55);
}

function clamp(value) {
  return Math.min(1, Math.max(0, value));
}
