import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';

const FOLDER = new URL('./assets/', import.meta.url);
const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export type Asset = { readonly path: string; readonly type: string; readonly body: string };

/** Read once. The path holds a digest of the content, so a browser may keep it for ever. */
const ASSETS = new Map<string, Asset>(
  readdirSync(FOLDER).map((name) => {
    const body = readFileSync(new URL(name, FOLDER), 'utf8');
    const path = `/assets/${hash('sha256', body, 'hex').slice(0, 12)}/${name}`;
    return [name, { path, type: TYPES[extname(name)]!, body }];
  }),
);

export const allAssets = (): Asset[] => [...ASSETS.values()];

/** The address of an asset by its file name. */
export function asset(name: string): string {
  const found = ASSETS.get(name);
  if (!found) throw new Error(`there is no asset ${name}`);
  return found.path;
}
