// The functions of Envoy that the filter calls (Proxy-Wasm ABI 0.2.1), and the numbers that they
// take and return.

@external("env", "proxy_get_property")
export declare function getProperty(path: usize, pathBytes: usize, value: usize, valueBytes: usize): i32;
@external("env", "proxy_get_buffer_bytes")
export declare function getBuffer(kind: i32, start: i32, most: i32, value: usize, valueBytes: usize): i32;
@external("env", "proxy_get_shared_data")
export declare function getShared(key: usize, keyBytes: usize, value: usize, valueBytes: usize, version: usize): i32;
@external("env", "proxy_set_shared_data")
export declare function setShared(key: usize, keyBytes: usize, value: usize, valueBytes: usize, version: u32): i32;
@external("env", "proxy_close_stream")
export declare function closeStream(kind: i32): i32;
@external("env", "proxy_get_current_time_nanoseconds")
export declare function getTime(time: usize): i32;

export const OK: i32 = 0;
/** Another thread has changed the value since it was read. */
export const CAS_MISMATCH: i32 = 8;
/**
 * Kinds of buffers: the client's bytes (Proxy-Wasm's downstream data) and the bytes for the client
 * (upstream data).
 */
export const FROM_CLIENT: i32 = 2;
export const FOR_CLIENT: i32 = 3;
export const PLUGIN_CONFIGURATION: i32 = 7;
export const DOWNSTREAM: i32 = 2;
export const CONTINUE: i32 = 0;
export const STOP_ITERATION: i32 = 1;

/**
 * The host writes the pointer, the length and the version of a value here. Whoever reads the value
 * frees it.
 */
export const result = memory.data(12);
