/** Numbers of RFC 9113, and the bounds that this server sets. */

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

/** Error codes of RFC 9113. A function that returns one returns `noError` for success. */
export const Http2ErrorCode = {
  noError: 0,
  protocol: 1,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  compression: 9,
  enhanceYourCalm: 11,
} as const;
export type Http2ErrorCode = (typeof Http2ErrorCode)[keyof typeof Http2ErrorCode];

export const Setting = {
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** Defaults until a client's SETTINGS change them, and the protocol's maxima. */
export const DEFAULT_WINDOW_BYTES = 65_535;
export const DEFAULT_FRAME_BYTES = 16_384;
export const MAX_WINDOW_BYTES = 0x7fff_ffff;
export const MAX_FRAME_BYTES = 0xff_ffff;

/**
 * Bytes of one upload that a client may send while its stream is paused. Most requests are smaller,
 * and one of 100 KB was no cheaper with four times as many. They do not use up the connection's
 * window, which is given back as bytes arrive.
 */
export const STREAM_WINDOW_BYTES = 64 * 1024;
/**
 * Longest frame that a client may send. With frames of 16,384 bytes, a gRPC message with 16 KiB of
 * a body would take two: Envoy would copy it to split it, and the reader would copy it to join it.
 */
export const RECEIVED_FRAME_BYTES = 32 * 1024;
export const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
/** Most streams of one connection at a time. Further ones are refused. */
export const MAX_STREAMS = 100_000;
/** Limit of a block of headers, compressed or decoded. A gRPC call has some hundred bytes. */
export const MAX_HEADER_LIST_BYTES = 16 * 1024;
