import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configJsonSchema } from '#core/config/schema.ts';
import { withTable } from './error-table.ts';
import { withErrors } from './openapi-errors.ts';

/**
 * Writes all generated files: `npm run generate`. If no source has changed, Git shows no change.
 * The protocol's code needs `protoc`, which is no npm package, and therefore Python 3 with pip.
 */
const ROOT = join(import.meta.dirname, '..');

/** Python package with the release of `protoc` that `proto/generated` names. */
const PROTOC = 'grpcio-tools==1.85.1';

/** Options for TypeScript that Node can run by stripping types, with Buffers for bytes. */
const TS_PROTO = [
  'env=node',
  'esModuleInterop=true',
  'importSuffix=.ts',
  'enumsAsLiterals=true',
  'forceLong=number',
  'useOptionals=all',
  'outputServices=none',
  'outputJsonMethods=false',
  'outputPartialMethods=false',
  'outputTypeAnnotations=false',
  'unrecognizedEnum=false',
].join(',');

function generateSchema(): void {
  const path = 'config/gateway.schema.json';
  writeFileSync(join(ROOT, path), JSON.stringify(configJsonSchema(), null, 2));
  run('node_modules/.bin/biome', ['format', '--write', '--log-level=error', path]);
}

function generateErrorTable(): void {
  const file = join(ROOT, 'docs/errors.md');
  writeFileSync(file, withTable(readFileSync(file, 'utf8')));
}

function generateApiErrors(): void {
  const file = join(ROOT, 'docs/openapi.yaml');
  writeFileSync(file, withErrors(readFileSync(file, 'utf8')));
}

function generateProtocol(): void {
  const packages = join(ROOT, '.cache/protoc', PROTOC);
  if (!existsSync(packages)) {
    run('python3', ['-m', 'pip', 'install', '--quiet', '--target', packages, '--only-binary=:all:', PROTOC]);
  }
  const plugin = `--plugin=${join(ROOT, 'node_modules/.bin/protoc-gen-ts_proto')}`;
  const output = ['--ts_proto_out=proto/generated', `--ts_proto_opt=${TS_PROTO}`];
  const args = ['-m', 'grpc_tools.protoc', plugin, '--proto_path=proto', ...output, 'proto/ext_proc.proto'];
  run('python3', args, { ...process.env, PYTHONPATH: packages });
}

function run(command: string, args: readonly string[], env = process.env): void {
  const { status, error } = spawnSync(command, args, { cwd: ROOT, env, stdio: 'inherit' });
  if (status !== 0) throw error ?? new Error(`${command} ${args.slice(0, 3).join(' ')} ended with status ${status}`);
}

generateSchema();
generateErrorTable();
generateApiErrors();
generateProtocol();
