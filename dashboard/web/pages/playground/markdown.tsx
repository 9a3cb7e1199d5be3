// biome-ignore-all lint/suspicious/noArrayIndexKey: a response only grows, so an index is a stable key.
import { Fragment, memo, type ReactNode } from 'react';
import { CopyButton } from '../../components/copy.tsx';
import { type Block, blocksOf, type Inline, inlineOf, partsOf } from '../../markdown/markdown-blocks.ts';
import styles from './markdown.module.css';

/** A model's text. It is rendered as React elements, so that no HTML in it is executed. */
export function Markdown({ text }: { readonly text: string }): ReactNode {
  return (
    <div className={styles.text}>
      {partsOf(text).map((part, index) => (
        <Part key={index} text={part} />
      ))}
    </div>
  );
}

const Part = memo(function Part({ text }: { readonly text: string }): ReactNode {
  return <Blocks of={blocksOf(text.split('\n'))} />;
});

function Blocks({ of: blocks }: { readonly of: readonly Block[] }): ReactNode {
  return blocks.map((block, index) => <BlockView key={index} of={block} />);
}

function BlockView({ of: block }: { readonly of: Block }): ReactNode {
  switch (block.kind) {
    case 'text':
      return (
        <p>
          <Line text={block.text} />
        </p>
      );
    case 'heading':
      // Lower than the heading with the speaker's name.
      return block.level < 3 ? (
        <h3>
          <Line text={block.text} />
        </h3>
      ) : (
        <h4>
          <Line text={block.text} />
        </h4>
      );
    case 'rule':
      return <hr />;
    case 'code':
      return <CodeBlock {...block} />;
    case 'quote':
      return (
        <blockquote>
          <Blocks of={block.blocks} />
        </blockquote>
      );
    case 'list': {
      const items = block.items.map((item, index) => (
        <li key={index}>
          <Blocks of={item} />
        </li>
      ));
      return block.start === undefined ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>;
    }
    case 'table':
      return <Rows of={block.rows} />;
  }
}

export function CodeBlock({ language, text }: { readonly language: string; readonly text: string }): ReactNode {
  return (
    <div className={styles.code}>
      <div className={styles.head}>
        {language || 'code'}
        <CopyButton text={text} what="code" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}

function Rows({ of: [head = [], ...rows] }: { readonly of: readonly (readonly string[])[] }): ReactNode {
  const cells = (row: readonly string[], Cell: 'th' | 'td') =>
    row.map((text, column) => (
      <Cell key={column}>
        <Line text={text} />
      </Cell>
    ));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div className={styles.rows} tabIndex={0}>
      <table>
        <thead>
          <tr>{cells(head, 'th')}</tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>{cells(row, 'td')}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line({ text }: { readonly text: string }): ReactNode {
  return <Parts of={inlineOf(text)} />;
}

const TAGS = { strong: 'strong', emphasis: 'em', struck: 's' } as const;

function Parts({ of: parts }: { readonly of: readonly Inline[] }): ReactNode {
  return parts.map((part, index) => {
    return <Fragment key={index}>{inlineView(part)}</Fragment>;
  });
}

function inlineView(part: Inline): ReactNode {
  if (!('parts' in part)) return part.kind === 'code' ? <code>{part.text}</code> : part.text;
  const inner = <Parts of={part.parts} />;
  if (part.kind === 'link') {
    return (
      <a href={part.url} target="_blank" rel="noopener noreferrer nofollow">
        {inner}
      </a>
    );
  }
  const Tag = TAGS[part.kind];
  return <Tag>{inner}</Tag>;
}
