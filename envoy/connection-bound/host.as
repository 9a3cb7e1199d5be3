// The functions of Envoy that the module calls (Proxy-Wasm ABI 0.2.1), and its numbers.

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
/** Another thread has changed the value meanwhile. */
export const CAS_MISMATCH: i32 = 8;
/** Kinds of buffers. The client's bytes come downstream, those for the client upstream. */
export const FROM_CLIENT: i32 = 2;
export const FOR_CLIENT: i32 = 3;
export const PLUGIN_CONFIGURATION: i32 = 7;
export const DOWNSTREAM: i32 = 2;
export const CONTINUE: i32 = 0;
export const STOP_ITERATION: i32 = 1;

/** The host writes here: pointer, length and version of a value. Each value is freed once it has been read. */
export const result = memory.data(12);
