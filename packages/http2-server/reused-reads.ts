import { Socket } from 'node:net';

/**
 * Goes on with a connection that a server has accepted, and paused (`pauseOnConnect`), with a socket that reads into the same memory again
 * and again: what `onRead` is given is only valid until it returns. Node allocates 64 KiB for each read of a socket otherwise, outside the
 * heap, of which each 64 MB cost a full garbage collection. `net.connect` has an option for it, `onread`; for a server's sockets it takes
 * what Node itself does where a connection goes to another process: a second socket around the same handle. `handle` and `_handle`
 * are as old as Node, and in no documentation. Where they have gone the accepted socket is read as any other, which costs more and nothing else;
 * reused-reads.test.ts notices it.
 */
export function withReusedReads(accepted: Socket, buffer: Buffer, onRead: (bytes: Buffer) => void): Socket {
  const handle = handleOf(accepted);
  const callback = (length: number): boolean => {
    onRead(buffer.subarray(0, length));
    return true;
  };
  const socket = new Socket({ handle, onread: { buffer, callback } } as ConstructorParameters<typeof Socket>[0]);
  if (!handle || handleOf(socket) !== handle) return accepted.on('data', onRead).resume();
  (accepted as unknown as WithHandle)._handle = null;
  // Only its server knows it by now, and counts it.
  accepted.destroy();
  return socket;
}

interface WithHandle {
  _handle?: object | null;
}

function handleOf(socket: Socket): object | null | undefined {
  return (socket as unknown as WithHandle)._handle;
}
