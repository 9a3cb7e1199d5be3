import { type ClipboardEvent, type KeyboardEvent, type ReactNode, useRef } from 'react';
import { Button, IconButton } from '../../components/button.tsx';
import { useToast } from '../../components/toast.tsx';
import { TextAreaField } from '../../forms/inputs.tsx';
import styles from './playground.module.css';

interface ComposerProps {
  readonly busy: boolean;
  readonly onStop: () => void;
  /** Label of the text: a message, or the result of a tool. */
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Absent: none of the chosen models accepts images. */
  readonly images: readonly string[] | undefined;
  readonly onImages: (images: readonly string[]) => void;
}

/** A box for messages. Enter sends and Escape stops, so that no mouse is needed. */
export function Composer(props: ComposerProps): ReactNode {
  const { busy, onStop, label, text, onText, images } = props;
  const box = useRef<HTMLTextAreaElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && busy) onStop();
    // Enter may only accept a word in an input method.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!busy) box.current?.form?.requestSubmit();
  };
  const stop = () => {
    onStop();
    // Moves the focus, because the focused button is about to disappear.
    box.current?.focus();
  };
  const attach = useAttach(images ?? [], props.onImages);
  const onPaste = ({ clipboardData }: ClipboardEvent) => {
    if (images && clipboardData.files.length > 0) attach(clipboardData.files);
  };
  return (
    <div className={styles.composer} onPaste={onPaste}>
      {images && <Attached images={images} onImages={props.onImages} />}
      <TextAreaField
        label={label}
        required
        rows={2}
        placeholder="Enter to send, Shift+Enter for a new line"
        ref={box}
        value={text}
        onChange={onText}
        onKeyDown={onKeyDown}
      />
      <div className="row">
        {/* With keys, or the clicked button would become "Send" and submit the next message. */}
        {busy ? (
          <Button key="stop" icon="pause" onClick={stop}>
            Stop
          </Button>
        ) : (
          <Button key="send" type="submit" tone="primary" icon="play">
            Send
          </Button>
        )}
        {images && <AttachButton onFiles={attach} />}
      </div>
    </div>
  );
}

function Attached({ images, onImages }: Required<Pick<ComposerProps, 'onImages'>> & { images: readonly string[] }) {
  if (images.length === 0) return null;
  return (
    <div className="row">
      {images.map((url, index) => (
        <span key={url} className="row">
          <img className={styles.image} src={url} alt={`Attached ${index + 1}`} />
          <IconButton
            icon="close"
            label={`Remove image ${index + 1}`}
            onClick={() => onImages(images.filter((one) => one !== url))}
          />
        </span>
      ))}
    </div>
  );
}

function AttachButton({ onFiles }: { readonly onFiles: (files: FileList) => void }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button icon="plus" onClick={() => input.current?.click()}>
        Add image
      </Button>
      <input
        ref={input}
        type="file"
        accept="image/*"
        multiple
        hidden
        aria-label="Images"
        onChange={({ target }) => {
          if (target.files) onFiles(target.files);
          target.value = '';
        }}
      />
    </>
  );
}

const MAX_IMAGES = 4;

function useAttach(images: readonly string[], onImages: (images: readonly string[]) => void) {
  const toast = useToast();
  return (files: FileList) => {
    const added = Promise.all([...files].slice(0, MAX_IMAGES).map(imageUrl));
    void added.then(
      (urls) => onImages([...new Set([...images, ...urls])].slice(0, MAX_IMAGES)),
      () => toast({ tone: 'bad', text: 'The browser cannot read this image.' }),
    );
  };
}

/** Providers scale larger images down to about this size, and bill no more tokens for them. */
const MAX_SIDE_PX = 1568;

/** Returns a small JPEG as a `data:` URL, because each message sends the whole conversation. */
async function imageUrl(file: File): Promise<string> {
  const picture = await createImageBitmap(file);
  const scale = Math.min(1, MAX_SIDE_PX / Math.max(picture.width, picture.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('the browser has no canvas');
  // A white background, because JPEG has no transparency.
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  return canvas.toDataURL('image/jpeg', 0.8);
}
