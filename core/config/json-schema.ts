import { z } from 'zod';
import { CONFIG_FILE } from './schema.ts';

/**
 * The JSON Schema that editors complete and check the file by. `node core/config/json-schema.ts > config/gateway.schema.json` writes
 * it again; a test compares.
 */
export function configJsonSchema(): object {
  return {
    ...z.toJSONSchema(CONFIG_FILE, { io: 'input' }),
    title: 'Inference Gateway configuration',
  };
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
