import { Socket } from 'node:net';

/**
 * Goes on with a connection that a server has accepted, and paused (`pauseOnConnect`), with a socket that reads into the same memory again
 * and again: what `onRead` is given is only valid until it returns. Node allocates 64 KiB for each read of a socket otherwise, outside the
 * heap, of which each 64 MB cost a full garbage collection. `net.connect` has an option for it, `onread`; for a server's sockets it takes
 * what Node itself does where a connection goes to another process: a second socket around the same handle. `handle` and `_handle`
 * are as old as Node, and in no documentation: reused-reads.test.ts notices when they change.
 */
export function withReusedReads(accepted: Socket, buffer: Buffer, onRead: (bytes: Buffer) => void): Socket {
  const from = accepted as unknown as { _handle: object | null };
  const handle = from._handle;
  from._handle = null;
  // Only its server knows it by now, and counts it.
  accepted.destroy();
  const callback = (length: number): boolean => {
    onRead(buffer.subarray(0, length));
    return true;
  };
  return new Socket({ handle, onread: { buffer, callback } } as ConstructorParameters<typeof Socket>[0]);
}
