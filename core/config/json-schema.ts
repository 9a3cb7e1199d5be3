import { z } from 'zod';
import { CONFIG_FILE } from './schema.ts';

/**
 * JSON Schema for editors, which complete and check the file. `npm run generate` writes it to
 * config/gateway.schema.json.
 */
export function configJsonSchema(): object {
  return {
    ...z.toJSONSchema(CONFIG_FILE, { io: 'input' }),
    title: 'Inference Gateway configuration',
  };
}
