// Reads what numpy.savez_compressed writes, as far as the server uses it: uint8 arrays and JSON.

const LOCAL_FILE = 0x04034b50;

/** The members of an archive, by name: {shape, data} for arrays, a string for other files. */
export async function readNpz(buffer) {
  const view = new DataView(buffer);
  const members = {};
  // Sizes stand in the directory at the end: entries of a streamed archive have none in front.
  let place = directoryOf(view);
  while (place + 46 <= view.byteLength && view.getUint32(place, true) === 0x02014b50) {
    const method = view.getUint16(place + 10, true);
    const packed = view.getUint32(place + 20, true);
    const nameLength = view.getUint16(place + 28, true);
    const skip = view.getUint16(place + 30, true) + view.getUint16(place + 32, true);
    const start = view.getUint32(place + 42, true);
    const name = new TextDecoder().decode(new Uint8Array(buffer, place + 46, nameLength));
    const bytes = await unpack(buffer, view, start, packed, method);
    if (name.endsWith(".npy")) members[name.slice(0, -4)] = readArray(bytes);
    else members[name] = new TextDecoder().decode(bytes);
    place += 46 + nameLength + skip;
  }
  return members;
}

function directoryOf(view) {
  for (let place = view.byteLength - 22; place >= 0; place--) {
    if (view.getUint32(place, true) === 0x06054b50) return view.getUint32(place + 16, true);
  }
  throw new Error("The answer of the server is damaged.");
}

async function unpack(buffer, view, start, packed, method) {
  if (view.getUint32(start, true) !== LOCAL_FILE) throw new Error("The answer of the server is damaged.");
  const data = start + 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
  const bytes = new Uint8Array(buffer, data, packed);
  if (method === 0) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function readArray(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const long = bytes[6] > 1;
  const length = long ? view.getUint32(8, true) : view.getUint16(8, true);
  const start = (long ? 12 : 10) + length;
  const header = new TextDecoder().decode(bytes.subarray(long ? 12 : 10, start));
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(",").map((side) => parseInt(side)).filter((side) => !isNaN(side));
  return { shape, data: bytes.subarray(start) };
}
