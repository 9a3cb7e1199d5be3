/**
 * Threads of libuv, of which name lookups get half: two for customers' names, two for the issuer's,
 * and four for mail, payments and the database. With libuv's own four threads, two slow name
 * servers stop all lookups. Imported first, because libuv reads the variable when it first needs a
 * thread.
 */
process.env.UV_THREADPOOL_SIZE ??= '16';
