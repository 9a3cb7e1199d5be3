import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { readBundle, stateOfBundles } from './trusted-ca.ts';

/**
 * Node reads `NODE_EXTRA_CA_CERTS` once, at the start of the process. Each call of the returned
 * function reads the file if it has changed, for all connections that begin afterwards.
 */
export function followExtraCas(path = process.env.NODE_EXTRA_CA_CERTS): () => Promise<void> {
  if (!path) return async () => {};
  // Leaves out one entry for each CA of the file. The system's store (`--use-system-ca`) may have
  // the same CA, which stays.
  const former = [...getCACertificates('extra')];
  const others = getCACertificates('default').filter((one) => {
    const at = former.indexOf(one);
    if (at >= 0) former.splice(at, 1);
    return at < 0;
  });
  // With `--use-openssl-ca` Node does not list the others, so they would be lost.
  if (others.length === 0) return async () => {};
  let state = '';
  return async () => {
    const next = await stateOfBundles([path]);
    if (next === state) return;
    state = next;
    const read = await readBundle(path);
    if (read.ok) setDefaultCACertificates([...others, read.bundle.pem]);
    const problem = read.ok ? read.problem : read.reason;
    // Node warns like this at the start. The former CAs stay in force.
    if (problem !== undefined) process.emitWarning(`The CAs in ${path} are not used: ${problem}`);
  };
}
