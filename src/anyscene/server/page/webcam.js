// The webcam: one frame on its way at a time, so that labels are never old.

import { live, understood } from "./api.js";

const WIDTH = 480;

export class Webcam {
  /** onFrame(canvas, labels), onRefused(message) for a frame without labels, onEnd(message or null). */
  constructor(onFrame, onRefused, onEnd) {
    this.onFrame = onFrame;
    this.onRefused = onRefused;
    this.onEnd = onEnd;
    this.stream = null;
    this.socket = null;
  }

  get isOn() {
    return this.stream !== null;
  }

  async start(model, budget) {
    if (!navigator.mediaDevices?.getUserMedia) {
      throw new Error("The browser gives a webcam to pages over HTTPS or on this machine only; see --certfile.");
    }
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ video: { width: 640, facingMode: "environment" } });
    } catch (error) {
      throw new Error(error.name === "NotAllowedError" ? "The browser was not allowed to use the webcam." : "There is no webcam that can be used.");
    }
    this.video = document.createElement("video");
    this.video.srcObject = this.stream;
    this.video.muted = this.video.playsInline = true;
    await this.video.play();
    this.connect(model, budget);
  }

  /** Go on with another budget or model. */
  connect(model, budget) {
    if (!this.isOn) return;
    const old = this.socket;
    this.socket = null;
    old?.close();
    const socket = live(model, budget);
    this.socket = socket;
    let told = null;
    socket.onopen = () => this.send(socket);
    socket.onmessage = async ({ data }) => {
      if (this.socket !== socket) return;
      if (typeof data === "string") {
        told = JSON.parse(data);
        if (told.error && told.frame === undefined) this.stop(told.error);
        else if (told.error) {
          this.onRefused(told.error);
          setTimeout(() => this.send(socket), 200);
        }
        return;
      }
      const found = await understood(data, told.stages_ms, told.label_budget_ms ?? budget);
      if (this.socket !== socket) return;
      found.age = told.age_ms;
      this.onFrame(this.frame, found);
      this.send(socket);
    };
    socket.onclose = () => {
      if (this.socket === socket) this.stop("The live connection ended.");
    };
  }

  send(socket) {
    if (this.socket !== socket || socket.readyState !== WebSocket.OPEN) return;
    const height = Math.max(1, Math.round((WIDTH * this.video.videoHeight) / this.video.videoWidth)) || 360;
    const frame = document.createElement("canvas");
    frame.width = WIDTH;
    frame.height = height;
    frame.getContext("2d").drawImage(this.video, 0, 0, WIDTH, height);
    this.frame = frame;
    frame.toBlob((blob) => blob && socket.readyState === WebSocket.OPEN && socket.send(blob), "image/jpeg", 0.85);
  }

  stop(message = null) {
    if (!this.isOn) return;
    this.stream.getTracks().forEach((track) => track.stop());
    this.stream = null;
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.onEnd(message);
  }
}
