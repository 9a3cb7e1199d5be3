/** Providers scale what is larger down to about this, and count no more tokens for it. */
const MAX_SIDE_PX = 1568;

/** A small JPEG of it as a `data:` URL: the conversation is sent with each message. */
export async function imageUrl(file: File): Promise<string> {
  const picture = await createImageBitmap(file);
  const scale = Math.min(1, MAX_SIDE_PX / Math.max(picture.width, picture.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('the browser has no canvas');
  // JPEG has no transparency.
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  return canvas.toDataURL('image/jpeg', 0.8);
}
