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

/** Read once. The path contains a digest of the content, so browsers may cache it for ever. */
const ASSETS = new Map<string, Asset>(
  readdirSync(FOLDER).map((name) => {
    const body = readFileSync(new URL(name, FOLDER), 'utf8');
    const path = `/assets/${hash('sha256', body, 'hex').slice(0, 12)}/${name}`;
    return [name, { path, type: TYPES[extname(name)]!, body }];
  }),
);

export const allAssets = (): Asset[] => [...ASSETS.values()];

export function assetPath(name: string): string {
  const asset = ASSETS.get(name);
  if (!asset) throw new Error(`there is no asset ${name}`);
  return asset.path;
}
