/** Numbers of RFC 9113, and the bounds that this side sets. */

export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
export const FRAME_HEAD_BYTES = 9;

export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const Flag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** `noError` stands for "go on" wherever a function returns one of them. */
export const ErrorCode = {
  noError: 0,
  protocol: 1,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  compression: 9,
  enhanceYourCalm: 11,
} as const;
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

export const Setting = {
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** What holds until a peer's settings say otherwise. */
export const DEFAULT_WINDOW_BYTES = 65_535;
export const DEFAULT_FRAME_BYTES = 16_384;
export const MAX_WINDOW_BYTES = 0x7fff_ffff;
export const MAX_FRAME_BYTES = 0xff_ffff;

/**
 * Bytes of one upload that may wait unread, while its key is looked up: whoever has none has them, too. Most requests are smaller, and one of
 * 100 KB costs no less with four times as many. The connection's window is not spent by them: those bytes are given back at once.
 */
export const STREAM_WINDOW_BYTES = 64 * 1024;
export const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
export const MAX_STREAMS = 100_000;
/** Of one block of headers, packed or not. Those of a gRPC call take some hundred bytes; the client's own are in a message. */
export const MAX_HEADER_LIST_BYTES = 16 * 1024;
