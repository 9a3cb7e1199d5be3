import type { BorrowedBytes } from './borrowed-bytes.ts';
import {
  DEFAULT_FRAME_BYTES,
  Http2ErrorCode,
  MAX_FRAME_BYTES,
  MAX_HEADER_LIST_BYTES,
  MAX_STREAMS,
  MAX_WINDOW_BYTES,
  RECEIVED_FRAME_BYTES,
  Setting,
  STREAM_WINDOW_BYTES,
} from './protocol.ts';

const SETTING_BYTES = 6;

/** The payload of this server's SETTINGS frame. */
export const SETTINGS: Buffer = encode([
  [Setting.maxConcurrentStreams, MAX_STREAMS],
  [Setting.initialWindowSize, STREAM_WINDOW_BYTES],
  [Setting.maxFrameSize, RECEIVED_FRAME_BYTES],
  [Setting.maxHeaderListSize, MAX_HEADER_LIST_BYTES],
]);

function encode(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const bytes = Buffer.alloc(settings.length * SETTING_BYTES);
  for (const [index, [id, value]] of settings.entries()) {
    bytes.writeUInt16BE(id, index * SETTING_BYTES);
    bytes.writeUInt32BE(value, index * SETTING_BYTES + 2);
  }
  return bytes;
}

/** The settings of a client that limit what may be sent to it. */
export interface PeerSettings {
  readonly initialWindowBytes: number | undefined;
  readonly maxFrameBytes: number | undefined;
}

/** Returns the settings, or the connection error that they cause. */
export function readSettings(bytes: BorrowedBytes, start: number, end: number): PeerSettings | Http2ErrorCode {
  if ((end - start) % SETTING_BYTES !== 0) return Http2ErrorCode.frameSize;
  let initialWindowBytes: number | undefined;
  let maxFrameBytes: number | undefined;
  for (let at = start; at < end; at += SETTING_BYTES) {
    const value = bytes.readUInt32BE(at + 2);
    switch (bytes.readUInt16BE(at)) {
      case Setting.enablePush:
        if (value > 1) return Http2ErrorCode.protocol;
        break;
      case Setting.initialWindowSize:
        if (value > MAX_WINDOW_BYTES) return Http2ErrorCode.flowControl;
        initialWindowBytes = value;
        break;
      case Setting.maxFrameSize:
        if (value < DEFAULT_FRAME_BYTES || value > MAX_FRAME_BYTES) return Http2ErrorCode.protocol;
        maxFrameBytes = value;
    }
  }
  return { initialWindowBytes, maxFrameBytes };
}
