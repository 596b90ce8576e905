#!/bin/sh
# Makes the bundled fonts from the unpacked npm packages (see README.md); run in the repository's root.
set -eu
[ $# -eq 4 ] || { echo "usage: subset.sh INTER NOTO_SANS_SC JETBRAINS_MONO LUCIDE (unpacked packages)" >&2; exit 2; }
inter=$1 noto=$2 mono=$3 lucide=$4
fonts=assets/fonts icons=assets/icons
text=$(mktemp -d)
trap 'rm -r "$text"' EXIT

western=U+0020-007E,U+00A0-024F,U+0250-036F,U+0370-03FF,U+0400-052F,U+1E00-1EFF,U+2000-206F,U+2070-209F,U+20A0-20BF
symbols=U+2100-214F,U+2150-218F,U+2190-21FF,U+2200-22FF,U+2300-23FF,U+25A0-25FF,U+2600-27BF,U+FFFD
wide=U+3000-303F,U+FF00-FFEF

# The characters of GB2312 and the texts of the product.
python3 - "$text" <<'PYTHON'
import glob, sys
def decoded(rows):
    for row in rows:
        for cell in range(0xA1, 0xFF):
            try: yield bytes([row, cell]).decode("gb2312")
            except UnicodeDecodeError: pass
texts = "".join(open(name, encoding="utf-8").read() for name in sorted(glob.glob("assets/lang/*/*.ftl")))
open(sys.argv[1] + "/all", "w", encoding="utf-8").write("".join(decoded(range(0xA1, 0xF8))) + texts)
open(sys.argv[1] + "/common", "w", encoding="utf-8").write("".join(decoded(range(0xA1, 0xD8))) + texts)
PYTHON

cut() { source=$1 target=$2; shift 2; pyftsubset "$source" --output-file="$target" --no-hinting --notdef-outline \
  --name-IDs=0,1,2,13,14 --drop-tables+=STAT "$@"; }

for weight in 400Regular 500Medium 600SemiBold; do
  cut "$inter/$weight/Inter_$weight.ttf" "$fonts/Inter-${weight#???}.ttf" \
    --unicodes="$western,$symbols" --layout-features=kern,mark,mkmk,ccmp,locl
done
cut "$noto/400Regular/NotoSansSC_400Regular.ttf" "$fonts/NotoSansSC-Regular.ttf" \
  --unicodes="$wide" --text-file="$text/all" --layout-features=''
cut "$noto/600SemiBold/NotoSansSC_600SemiBold.ttf" "$fonts/NotoSansSC-SemiBold.ttf" \
  --unicodes="$wide" --text-file="$text/common" --layout-features=''
cut "$mono/400Regular/JetBrainsMono_400Regular.ttf" "$fonts/JetBrainsMono-Regular.ttf" \
  --unicodes="$western,$symbols,U+2500-259F" --layout-features=mark,mkmk,ccmp,locl
cut "$lucide/font/lucide.ttf" "$icons/lucide.ttf" --layout-features='' \
  --unicodes="$(sed -n "s/.*= '\\\\u{\\(e[0-9a-f]*\\)}'.*/U+\\1/p" src/ui/icon.rs | paste -sd,)"

command cp "$inter/LICENSE_FONT" "$fonts/LICENSE-Inter"
command cp "$noto/LICENSE_FONT" "$fonts/LICENSE-NotoSansSC"
command cp "$mono/LICENSE_FONT" "$fonts/LICENSE-JetBrainsMono"
command cp "$lucide/LICENSE" "$fonts/LICENSE-Lucide"
