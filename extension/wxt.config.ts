// The build, and with it the manifest: which powers the extension may ever hold. It asks for no site at install time,
// declares no content script, and exposes no page, resource or message port to the web or to other extensions.
import yaml from '@rollup/plugin-yaml';
import { defineConfig } from 'wxt';
import { EXTENSION_MANIFEST_KEY } from './src/contract/identity';

export default defineConfig({
  srcDir: 'src',
  publicDir: 'public',
  outDir: '../build/extension',
  imports: false,
  modules: ['@wxt-dev/module-react'],
  vite: () => ({ plugins: [yaml()] }),
  hooks: {
    // By its name content.ts would become a declared content script. It is injected at run time into approved
    // documents only, so it is built as a plain script and the manifest never hears of it.
    'entrypoints:found': (_, found) => {
      for (const entry of found) if (entry.name === 'content') entry.type = 'unlisted-script';
    },
  },
  manifest: {
    name: 'genkan',
    description: 'Lets programs you admit use your browser, site by site, and asks you before anything that matters.',
    key: EXTENSION_MANIFEST_KEY,
    minimum_chrome_version: '140',
    permissions: ['nativeMessaging', 'tabs', 'tabGroups', 'scripting', 'storage', 'alarms'],
    optional_host_permissions: ['<all_urls>'],
    icons: { 16: 'icon/16.png', 32: 'icon/32.png', 48: 'icon/48.png', 128: 'icon/128.png' },
    action: { default_title: 'genkan', default_icon: { 16: 'icon/16.png', 32: 'icon/32.png' } },
    incognito: 'not_allowed',
  },
});
