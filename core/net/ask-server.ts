import { type RequestOptions, request } from 'node:http';

/** Asks a server of this machine. Rejects if the answer is late, or has more than `mostBytes`. */
export function askServer(
  to: Pick<RequestOptions, 'socketPath' | 'host' | 'port' | 'method' | 'path'>,
  withinMs: number,
  mostBytes: number,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(withinMs);
    const call = request({ ...to, agent: false, signal }, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        chunks.push(chunk);
        if (length <= mostBytes) return;
        // Before the end, which may have been read together with this chunk.
        reject(new Error('the answer is too long'));
        call.destroy();
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      response.on('error', reject);
    });
    call.on('error', (error) => reject(signal.aborted ? new Error(`no answer in ${withinMs / 1000} s`) : error));
    call.end();
  });
}
