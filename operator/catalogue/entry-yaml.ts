import { Document, isCollection, visit } from 'yaml';
import type { Entry } from '#core/model-catalogue/catalogue.ts';

/** Collections that are at most this long as JSON are written on one line. */
const MAX_FLOW_CHARACTERS = 100;
export const INDENT = 2;

/** YAML of entries, indented by two spaces, in the style of the blocks in docs/providers.md. */
export function entriesYaml(entries: Readonly<Record<string, Entry>>, indent: number): string {
  const document = new Document(entries, { version: '1.2' });
  // Otherwise equal lists of two models would be written once, and the second as an alias.
  document.contents = document.createNode(entries, { aliasDuplicateObjects: false }) as typeof document.contents;
  visit(document, {
    Collection(_, node, path) {
      const isEntries = path.length < 2;
      if (isCollection(node) && !isEntries && JSON.stringify(node).length <= MAX_FLOW_CHARACTERS) {
        node.flow = true;
        return visit.SKIP;
      }
      return undefined;
    },
  });
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: false, indent: INDENT }).trimEnd();
  return text.replace(/^/gm, ' '.repeat(indent));
}

export function sectionYaml(section: string, entries: Readonly<Record<string, Entry>>): string {
  return `${section}:\n${entriesYaml(entries, INDENT)}`;
}
