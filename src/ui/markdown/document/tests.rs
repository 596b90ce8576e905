//! For every prefix of tricky texts, however it is cut into pieces, the blocks are those of a fresh parse.

use proptest::prelude::*;

use super::*;

const CORPUS: &[&str] = &[
    "# Title\n\nPara one\nstill one\n\nPara two with *emph* and **strong** and `code`.\n",
    "Setext\n======\n\nagain\n---\n\nnot\n--- x\n",
    "a\n#\n#x\n# y\n",
    "- a\n- b\n  - c\n    more\n\n- loose\n\n1. one\n2. two\n10) other\n",
    "- [ ] open\n- [x] done\n\n  para\n- [ ] third\n",
    "* a\n\n  b\n\n      code\n\nlazy\ncontinued\n",
    "> quote\nlazy\n> > deeper\n> - list in quote\n\nafter\n",
    "> a\n>\n> b\n\n> c\n",
    "```rust\nfn main() {}\n```\nafter\n~~~\nopen `` fence\n```\n~~\n~~~~\nend\n",
    "````md\n```\ninner\n```\n````\n\n```\nnever closed\n\n- not a list\n",
    "text\n\n    indented code\n\n    more\n\ntext\n",
    "| a | b |\n|---|:-:|\n| 1 | 2 |\n| `x\\|y` | **z** |\n\nafter | not a table\n",
    "para\n| a | b |\n|---|---|\n| 1 | 2 |\nnot a row\n\n|x|\n|-|\n",
    "See [one] and [two][x] and ![pic][one].\n\nMore [one].\n\n[one]: http://a.example/long \"title\"\n\ntext [x]\n\n[x]: <b c>\n[one]: http://late.example\n\n[ONE] end\n",
    "[a]: /first\n\n[a] here\n\n[a]: /second\n\nagain [a]\n",
    "> [q]: /inside\n\n[q] outside\n",
    "Foot[^1] and [^two] and [^none].\n\n[^1]: One.\n[^two]: Two\n    more\n\n    another paragraph\n\nAfter [^1] and [^two].\n",
    "[^a]: refers to [^b] and itself [^a]\n\ntext [^a]\n\n[^b]: end\n\n> in quote [^b]\n",
    "<div>\nhtml *not emph*\n\n</div>\n\n<!-- comment\n\nstill -->\n\nafter <b>inline</b> html\n",
    "<script>\n\nlet x;\n</script>\n\npara\n<?php\n\n?>\n",
    "***\n---\n___\n\n- - -\n* * *\n",
    "Inline math $x_1 * y_2$ and prices $5 and $10.\n\n$$\n\\int_0^1\n$$\n",
    "hard  \nbreak\\\nbreak\n\n~~gone~~ <http://auto.link> <me@x.org>\n",
    "1\n1.\n1. x\n   y\n2\n2. z\n",
    "crlf\r\n\r\n- item\r\n- item\r\n\r\n```\r\ncode\r\n```\r\n",
    "tab\n\n-\titem\n\n\tcode\n\n>\tquote\n",
    "中文段落，**粗体**和`代码`。\n\n- 第一\n- 第二\n\n| 名 | 值 |\n|---|---|\n| 甲 | 乙 |\n",
    "[broken](http://x\n\n![](data:image/png;base64,AAAA) ![alt *e*](https://h.example/p.png)\n\n[js](javascript:alert(1))\n",
    "\n\n\n# after blank\n\n\n\ntext\n\n\n",
    "- a\n\n\n\n- b\n\n<!-- -->\n\n- c\n",
    "-\n-\n  x\n\n-\n\n  y\n",
    "term\n[link]: /x\n\n[link]:\n/y\n'title'\nrest [link]\n",
    "a\n***\nb\n+ c\n+\n+ d\n> e\nf\n```\ng",
    "&amp; &nbsp; \\* \\[x] [^] [] ![]\n\n[ ]: /x\n\n[x y\nz]: /multi\n\n[X  Y z]\n",
    "~~~ lang {x}\n~~~\n\n``` a`b\nno fence\n```\nopen",
    "  - deep\n    - deeper\n      - deepest\n        text\n\n   para\n",
];

fn fresh(text: &str) -> Vec<(Range<usize>, Node)> {
    parse::parse(text, &Definitions::default()).blocks.into_iter().map(|block| (block.range, block.node)).collect()
}

fn blocks(document: &Document) -> Vec<Node> {
    document.blocks().iter().map(|block| block.node.clone()).collect()
}

fn fresh_nodes(text: &str) -> Vec<Node> {
    fresh(text).into_iter().map(|(_, node)| node).collect()
}

/// Feeds the text in pieces of these sizes (in characters, repeated) and compares after each.
fn check(text: &str, sizes: &[usize]) {
    let characters: Vec<char> = text.chars().collect();
    let mut document = Document::default();
    let mut at = 0;
    let mut turn = 0;
    while at < characters.len() {
        let size = sizes[turn % sizes.len()].max(1).min(characters.len() - at);
        turn += 1;
        let piece: String = characters[at..at + size].iter().collect();
        at += size;
        document.push(&piece);
        let prefix: String = characters[..at].iter().collect();
        assert_eq!(document.source(), prefix);
        let (found, wanted) = (blocks(&document), fresh_nodes(&prefix));
        if found != wanted {
            let at = found.iter().zip(&wanted).take_while(|(found, wanted)| found == wanted).count();
            panic!("after {prefix:?}\nblock {at}:\n{:?}\ninstead of\n{:?}", found.get(at), wanted.get(at));
        }
    }
}

#[test]
fn every_prefix_gives_the_blocks_of_a_fresh_parse() {
    for text in CORPUS {
        for sizes in [&[1][..], &[5], &[3, 1, 7], &[usize::MAX]] {
            check(text, sizes);
        }
    }
}

#[test]
fn every_prefix_of_all_texts_in_a_row_gives_the_blocks_of_a_fresh_parse() {
    let all = CORPUS.join("\n\n");
    check(&all, &[1]);
    check(&all, &[11, 2]);
}

fn line_defines(line: &str) -> bool {
    line.contains("]:")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_mix_of_lines_in_any_pieces_gives_the_blocks_of_a_fresh_parse(
        lines in prop::collection::vec(0usize..400, 1..24),
        joints in prop::collection::vec(0usize..4, 24),
        sizes in prop::collection::vec(1usize..40, 1..6),
    ) {
        let all: Vec<&str> = CORPUS.iter().flat_map(|text| text.split_inclusive('\n')).collect();
        let mut text = String::new();
        for (line, joint) in lines.iter().zip(&joints) {
            text.push_str(all[line % all.len()]);
            // What stands right behind a link definition is taken for one thing or another by pulldown-cmark, depending
            // on what stands far above: only the texts of the corpus hold such lines.
            text.push_str(if text.ends_with('\n') && line_defines(all[line % all.len()]) { "\n" } else { "" });
            text.push_str(["", "\n", "  ", "> "][*joint]);
        }
        check(&text, &sizes);
    }
}

#[test]
fn settled_text_is_never_parsed_again() {
    let paragraph = "A paragraph of ordinary prose with some **bold** words in it.\n\n";
    let cost = |count: usize| {
        let mut document = Document::default();
        for _ in 0..count {
            for piece in paragraph.as_bytes().chunks(8) {
                document.push(std::str::from_utf8(piece).unwrap());
            }
        }
        document.stats().parsed_bytes
    };
    let (small, large) = (cost(100), cost(1600));
    assert!(large <= 17 * small, "{small} {large}");
}

#[test]
fn an_open_block_of_code_grows_without_parsing() {
    let mut document = Document::default();
    document.push("Text\n\n```rust\n");
    let before = document.stats();
    for line in 0..10_000 {
        document.push(&format!("let x{line} = {line};\n"));
    }
    assert_eq!(document.stats(), before);
    assert_eq!(blocks(&document), fresh_nodes(document.source()));
    let lineage = document.blocks()[1].lineage;
    document.push("```\nafter\n");
    assert_eq!(document.blocks()[1].lineage, lineage);
    assert_eq!(blocks(&document), fresh_nodes(document.source()));
}

#[test]
fn a_late_definition_parses_only_the_blocks_that_wait_for_it() {
    let mut document = Document::default();
    for index in 0..500 {
        document.push(&format!("paragraph {index} with [ref{}]\n\n", index % 250));
    }
    document.push("[ref7]: http://x.example\n\nend\n");
    assert_eq!(document.stats().reparsed_blocks, 2);
    assert_eq!(blocks(&document), fresh_nodes(document.source()));
}

#[test]
fn unchanged_blocks_keep_their_version() {
    let mut document = Document::default();
    document.set("one\n\ntwo\n\nthree");
    let before: Vec<u64> = document.blocks().iter().map(|block| block.version).collect();
    document.set("one\n\ntwo\n\nthree and more");
    let after: Vec<u64> = document.blocks().iter().map(|block| block.version).collect();
    assert_eq!(before[..2], after[..2]);
    assert_ne!(before[2], after[2]);
}

#[test]
fn another_text_replaces_the_document() {
    let mut document = Document::default();
    document.set("# one");
    document.set("two");
    assert_eq!(blocks(&document), fresh_nodes("two"));
}

#[test]
fn hostile_texts_become_plain_text_without_loss() {
    let hostile = [
        ">".repeat(100_000),
        "> ".repeat(100_000),
        format!("|{}\n|{}\n", "a|".repeat(10_000), "-|".repeat(10_000)),
        "- ".repeat(50_000),
        "x".repeat(10_000_000),
        "[".repeat(100_000),
        "*a ".repeat(100_000),
        "`".repeat(100_000),
        "<!--".repeat(50_000),
        format!("{}\n", "1. ".repeat(20_000)),
    ];
    for text in hostile {
        let mut document = Document::default();
        document.set(&text);
        let mut shown = String::new();
        for block in document.blocks() {
            block.node.plain_text(&mut shown);
        }
        let letters = |text: &str| text.bytes().filter(|byte| matches!(byte, b'x' | b'a' | b'>')).count();
        assert!(letters(&shown) >= letters(&text).min(1), "{}", &text[..20]);
        assert!(document.stats().parsed_bytes <= 40 * text.len() + 1_000_000, "{}", &text[..20]);
    }
}

#[test]
fn deep_nesting_is_cut_and_shown_as_source() {
    let mut document = Document::default();
    document.set(&format!("{}deep\n", "> ".repeat(40)));
    let mut shown = String::new();
    document.blocks()[0].node.plain_text(&mut shown);
    assert!(shown.contains("deep"), "{shown}");
}

#[test]
fn what_turns_or_hides_words_stands_there_as_its_escape() {
    let nodes = fresh_nodes("hi\u{202E}gpj **a\u{200B}b** \u{1F469}\u{200D}\u{1F4BB}");
    let [Node::Paragraph(text)] = nodes.as_slice() else { panic!("one paragraph: {nodes:?}") };
    assert_eq!(text.text, "hi\\u{202E}gpj a\\u{200B}b \u{1F469}\u{200D}\u{1F4BB}");
    let escapes: Vec<&str> =
        text.spans.iter().filter(|span| span.style.escape).map(|span| &text.text[span.range.clone()]).collect();
    assert_eq!(escapes, ["\\u{202E}", "\\u{200B}"]);
}
