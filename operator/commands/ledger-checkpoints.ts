import { createPublicKey, type KeyObject } from 'node:crypto';
import { type RuntimePaths, runtimePaths } from '#core/config/runtime-paths.ts';
import { checkpointKeyPath, openCheckpointKey } from '#database/checkpoints/checkpoint-key.ts';
import { listCheckpoints } from '#database/checkpoints/checkpoint-rows.ts';
import { writeCheckpoints } from '#database/checkpoints/checkpoint-writer.ts';
import { rawPublicKey } from '#database/checkpoints/checkpoints.ts';
import { type Command, onDatabase } from '../command-line/command.ts';
import { refused } from '../command-line/result.ts';
import { checkpointJson } from './checkpoint-lines.ts';

const list: Command = {
  name: 'ledger checkpoints',
  summary:
    'Print the signed checkpoints of the ledger as lines of JSON, to be stored elsewhere; --write makes new ones first.',
  flags: [{ name: 'since', value: 'ISO' }, { name: 'write' }],
  run: (call) =>
    onDatabase(
      call,
      (values) => ({ sinceMs: values.moment('since') ?? 0, writes: values.isOn('write') === true }),
      async (pool, { sinceMs, writes }) => {
        if (writes) {
          const privateKey = await openKey(runtimePaths(call.env));
          if (typeof privateKey === 'string') return refused(privateKey);
          await writeCheckpoints(pool, { privateKey, everyMs: 0 });
        }
        const json = (await listCheckpoints(pool, sinceMs)).map(checkpointJson);
        return { kind: 'done', json, text: json.map((one) => JSON.stringify(one)).join('\n') };
      },
    ),
};

const key: Command = {
  name: 'ledger checkpoint-key',
  summary: 'Show the public key of this data folder, which verifies checkpoints. The key is created if it is missing.',
  async run({ env }) {
    const paths = runtimePaths(env);
    const file = checkpointKeyPath(paths);
    const privateKey = await openKey(paths);
    if (typeof privateKey === 'string') return refused(privateKey);
    const opened = createPublicKey(privateKey);
    const publicKey = rawPublicKey(opened).toString('base64url');
    // Readers of PEM skip the line before the block.
    const pem = opened.export({ format: 'pem', type: 'spki' }).toString().trim();
    return {
      kind: 'done',
      json: { file, public_key: publicKey },
      text: `${publicKey} is the public key of ${file}.\n${pem}`,
    };
  },
};

/** A message if the file is damaged, or of another user. */
function openKey(paths: RuntimePaths): Promise<KeyObject | string> {
  return openCheckpointKey(paths).catch(
    (error: Error) => `${checkpointKeyPath(paths)} cannot be used: ${error.message}`,
  );
}

export const CHECKPOINT_COMMANDS: readonly Command[] = [list, key];
