import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A scripted model's turn: a text or a tool call. */
export type Turn = string | ToolTurn;

export interface ToolTurn {
  readonly tool: string;
  readonly namespace?: string;
  /** A string for a custom tool. */
  readonly input: Readonly<Record<string, string>> | string;
}

/** An agent, unmodified from its registry, that runs against the gateway. */
export interface Agent {
  /** Name in docs/clients.md. */
  readonly name: string;
  /**
   * Its shell script without the extension. For Python also its environment in `.cache/clients`.
   */
  readonly file: string;
  /** Turns with which the model changes `old` to `new` in the file. */
  readonly turns: (path: string) => readonly Turn[];
  /** A file below its home that keeps it from disturbing other agents. */
  readonly settings?: { readonly path: string; readonly text: string };
  /** True for a server that a page uses. */
  readonly isServer?: true;
  /** Exit code after a refusal. Default: 1. */
  readonly refusedExit?: 0;
}

export const OLD_TEXT = 'Hello, old world.\n';
export const NEW_TEXT = 'Hello, new world.\n';

const SEARCH_AND_REPLACE = `greeting.txt
\`\`\`
<<<<<<< SEARCH
${OLD_TEXT}=======
${NEW_TEXT}>>>>>>> REPLACE
\`\`\`
`;

const CODING_AGENTS: readonly Agent[] = [
  {
    name: 'opencode',
    file: 'opencode',
    turns: (filePath) => [{ tool: 'edit', input: { filePath, oldString: 'old', newString: 'new' } }],
  },
  {
    name: 'Claude Code',
    file: 'claude-code',
    // Its tool edits only files that it has read.
    turns: (file_path) => [
      { tool: 'Read', input: { file_path } },
      { tool: 'Edit', input: { file_path, old_string: 'old', new_string: 'new' } },
    ],
  },
  {
    name: 'Codex',
    file: 'codex',
    // Its sandbox creates protected folders in /tmp, and removes them while another process uses
    // them.
    settings: { path: '.codex/config.toml', text: '[sandbox_workspace_write]\nexclude_slash_tmp = true\n' },
    turns: (path) => [{ tool: 'exec_command', input: { cmd: `sed -i s/old/new/ '${path}'` } }],
  },
  {
    name: 'Cline',
    file: 'cline',
    turns: (path) => [{ tool: 'editor', input: { path, old_text: 'old', new_text: 'new' } }],
  },
  {
    name: 'Qwen Code',
    file: 'qwen-code',
    // Like Claude Code, it edits only files that it has read.
    turns: (file_path) => [
      { tool: 'read_file', input: { file_path } },
      { tool: 'edit', input: { file_path, old_string: 'old', new_string: 'new' } },
    ],
  },
  // Uses no tools, but reads the edit from the text.
  { name: 'aider', file: 'aider', turns: () => [SEARCH_AND_REPLACE], refusedExit: 0 },
  {
    name: 'mini-swe-agent',
    file: 'mini-swe-agent',
    turns: (path) => [
      { tool: 'bash', input: { command: `sed -i s/old/new/ '${path}'` } },
      { tool: 'bash', input: { command: 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT' } },
    ],
  },
];

const OPEN_WEBUI: Agent = {
  name: 'Open WebUI',
  file: 'open-webui',
  isServer: true,
  turns: (path) => [{ tool: 'change_file', input: { path, old: 'old', new: 'new' } }],
};

export const AGENTS: readonly Agent[] = [...CODING_AGENTS, OPEN_WEBUI];

/** The script as docs/clients.md shows it. */
export function scriptOf({ file }: Agent): string {
  return readFileSync(join(import.meta.dirname, `${file}.sh`), 'utf8').trim();
}
