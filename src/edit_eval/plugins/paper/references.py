"""What can be cited: benchmarks, protocols, models and methods, each with where its entry was looked up.

A row is here only if its authors, title and year were read from the source beside it; what is not here is named and not
cited. Long lists of authors are cut after the first ones (`and others`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class BibliographyEntry:
    """An entry of a bibliography."""

    key: str
    of: tuple[str, ...]
    """What it is cited for: `benchmark:TYPE`, `protocol:TYPE`, `method:NAME`, or `weights:` and how names begin."""
    authors: str
    """As BibTeX has them."""
    title: str
    """Braces keep capitals."""
    year: int
    source: str
    """Where the entry was looked up."""
    arxiv: str = ""
    place: str = ""
    """Journal or proceedings, if it is not a preprint."""
    detail: str = ""
    """Volume and pages, as fields of BibTeX."""
    url: str = ""
    called: str = ""
    """Name of the benchmark, as its authors write it."""


REFERENCES: tuple[BibliographyEntry, ...] = (
    # -- benchmarks and protocols --
    BibliographyEntry(
        "liu2025step1x",
        ("benchmark:gedit", "weights:Step1X-Edit"),
        "Liu, Shiyu and Han, Yucheng and Xing, Peng and Yin, Fukun and Wang, Rui and Cheng, Wei and others",
        "{Step1X-Edit}: A Practical Framework for General Image Editing",
        2025,
        "github.com/stepfun-ai/Step1X-Edit at 570eba6, README.md",
        arxiv="2504.17761",
        called="GEdit-Bench",
    ),
    BibliographyEntry(
        "ku2023viescore",
        ("protocol:viescore",),
        "Ku, Max and Jiang, Dongfu and Wei, Cong and Yue, Xiang and Chen, Wenhu",
        "{VIEScore}: Towards Explainable Metrics for Conditional Image Synthesis Evaluation",
        2023,
        "github.com/TIGER-AI-Lab/VIEScore at 2cbea4e, README.md",
        arxiv="2312.14867",
    ),
    BibliographyEntry(
        "ye2025imgedit",
        ("benchmark:imgedit", "protocol:imgedit"),
        "Ye, Yang and He, Xianyi and Li, Zongjian and Lin, Bin and Yuan, Shenghai and Yan, Zhiyuan and Hou, Bohan and "
        "Yuan, Li",
        "{ImgEdit}: A Unified Image Editing Dataset and Benchmark",
        2025,
        "github.com/PKU-YuanGroup/ImgEdit at 547185d, README.md",
        arxiv="2505.20275",
        called="ImgEdit-Bench",
    ),
    BibliographyEntry(
        "wu2025kris",
        ("benchmark:kris", "protocol:kris"),
        "Wu, Yongliang and Li, Zonghui and Hu, Xinting and Ye, Xinyu and Zeng, Xianfang and Yu, Gang and Zhu, Wenbo "
        "and Schiele, Bernt and Yang, Ming-Hsuan and Yang, Xu",
        "{KRIS-Bench}: Benchmarking Next-Level Intelligent Image Editing Models",
        2025,
        "arxiv.org/abs/2505.16707, v1",
        arxiv="2505.16707",
        called="KRIS-Bench",
    ),
    BibliographyEntry(
        "zhang2023magicbrush",
        ("benchmark:magicbrush", "protocol:magicbrush"),
        "Zhang, Kai and Mo, Lingbo and Chen, Wenhu and Sun, Huan and Su, Yu",
        "{MagicBrush}: A Manually Annotated Dataset for Instruction-Guided Image Editing",
        2023,
        "github.com/OSU-NLP-Group/MagicBrush at fcfc892, README.md",
        place="Advances in Neural Information Processing Systems",
        called="MagicBrush",
    ),
    BibliographyEntry(
        "zhao2025risebench",
        ("benchmark:risebench", "protocol:risebench"),
        "Zhao, Xiangyu and Zhang, Peiyuan and Tang, Kexian and Li, Hao and Zhang, Zicheng and Zhai, Guangtao and Yan, "
        "Junchi and Yang, Hua and Yang, Xue and Duan, Haodong",
        "Envisioning Beyond the Pixels: Benchmarking Reasoning-Informed Visual Editing",
        2025,
        "github.com/PhoenixZ810/RISEBench at 5f22651, README.md; arxiv.org/abs/2504.02826",
        arxiv="2504.02826",
        called="RISEBench",
    ),
    BibliographyEntry(
        "han2025unireditbench",
        ("benchmark:unireditbench", "protocol:unireditbench"),
        "Han, Feng and Wang, Yibin and Li, Chenglin and Liang, Zheming and Wang, Dianyi and Jiao, Yang and Wei, "
        "Zhipeng and Gong, Chao and Jin, Cheng and Wang, Jiaqi",
        "{UniREditBench}: A Unified Reasoning-Based Image Editing Benchmark",
        2025,
        "github.com/Maplebb/UniREditBench at a7015c5, README.md",
        arxiv="2511.01295",
        called="UniREditBench",
    ),
    BibliographyEntry(
        "wu2025omnigen2",
        ("benchmark:omnicontext", "protocol:omnicontext", "weights:OmniGen2"),
        "Wu, Chenyuan and Zheng, Pengfei and Yan, Ruiran and Xiao, Shitao and Luo, Xin and Wang, Yueze and others",
        "{OmniGen2}: Exploration to Advanced Multimodal Generation",
        2025,
        "github.com/VectorSpaceLab/OmniGen2 at 0f72fa9, README.md",
        arxiv="2506.18871",
        called="OmniContext",
    ),
    BibliographyEntry(
        "pu2025picabench",
        ("benchmark:picabench", "protocol:picabench"),
        "Pu, Yuandong and Zhuo, Le and Han, Songhao and Xing, Jinbo and Zhu, Kaiwen and Cao, Shuo and Fu, Bin and Liu, "
        "Si and Li, Hongsheng and Qiao, Yu and Zhang, Wenlong and Chen, Xi and Liu, Yihao",
        "{PICABench}: How Far Are We From Physically Realistic Image Editing?",
        2025,
        "github.com/Andrew0613/PICABench at 0514acd, README.md",
        arxiv="2510.17681",
        called="PICABench",
    ),
    BibliographyEntry(
        "zhuo2025structbench",
        ("benchmark:structeditbench", "protocol:structeditbench"),
        "Zhuo, Le and Han, Songhao and Pu, Yuandong and Qiu, Boxiang and Paul, Sayak and Liao, Yue and Liu, Yihao and "
        "Shao, Jie and Chen, Xi and Liu, Si and Li, Hongsheng",
        "Factuality Matters: When Image Generation and Editing Meet Structured Visuals",
        2025,
        "github.com/zhuole1025/Structured-Visuals at c8cc9f4, README.md",
        arxiv="2510.05091",
        called="StructEditBench",
    ),
    BibliographyEntry(
        "qu2025vincie",
        ("benchmark:msebench", "protocol:msebench"),
        "Qu, Leigang and Cheng, Feng and Yang, Ziyan and Zhao, Qi and Lin, Shanchuan and Shi, Yichun and Li, Yicong "
        "and Wang, Wenjie and Chua, Tat-Seng and Jiang, Lu",
        "{VINCIE}: Unlocking In-context Image Editing from Video",
        2025,
        "github.com/ByteDance-Seed/VINCIE at 30fcf36, README.md",
        arxiv="2506.10941",
        called="MSE-Bench",
    ),
    BibliographyEntry(
        "pan2025wiseedit",
        ("benchmark:wiseedit", "protocol:wiseedit"),
        "Pan, Kaihang and Chen, Weile and Qiu, Haiyi and Yu, Qifan and Bu, Wendong and Wang, Zehan and Zhu, Yun and "
        "Li, Juncheng and Tang, Siliang",
        "{WiseEdit}: Benchmarking Cognition- and Creativity-Informed Image Editing",
        2025,
        "github.com/beepkh/WiseEdit at 58cadba, README.md",
        arxiv="2512.00387",
        called="WiseEdit",
    ),
    BibliographyEntry(
        "li2026genarena",
        ("protocol:genarena",),
        "Li, Ruihang and Qu, Leigang and Zhang, Jingxu and Gui, Dongnan and Xu, Mengde and Zhang, Xiaosong and Hu, Han "
        "and Wang, Wenjie and Wang, Jiaqi",
        "{GenArena}: How Can We Achieve Human-Aligned Evaluation for Visual Generation Tasks?",
        2026,
        "github.com/ruihanglix/genarena at dd09b86, README.md",
        arxiv="2602.06013",
    ),
    # -- edit models --
    BibliographyEntry(
        "wu2025qwenimage",
        ("weights:Qwen-Image-Edit",),
        "Wu, Chenfei and Li, Jiahao and Zhou, Jingren and Lin, Junyang and Gao, Kaiyuan and Yan, Kun and others",
        "{Qwen-Image} Technical Report",
        2025,
        "github.com/QwenLM/Qwen-Image at 6b5e1f5, README.md",
        arxiv="2508.02324",
    ),
    BibliographyEntry(
        "blackforestlabs2025kontext",
        ("weights:FLUX.1-Kontext",),
        "{Black Forest Labs} and Batifol, Stephen and Blattmann, Andreas and Boesel, Frederic and Consul, Saksham and "
        "Diagne, Cyril and others",
        "{FLUX.1 Kontext}: Flow Matching for In-Context Image Generation and Editing in Latent Space",
        2025,
        "github.com/black-forest-labs/flux at 802fb47, README.md",
        arxiv="2506.15742",
    ),
    BibliographyEntry(
        "blackforestlabs2025flux2",
        ("weights:FLUX.2-",),
        "{Black Forest Labs}",
        "{FLUX.2}: Frontier Visual Intelligence",
        2025,
        "github.com/black-forest-labs/flux2 at ab7cca6, README.md",
        url="https://bfl.ai/blog/flux-2",
    ),
    BibliographyEntry(
        "firered2026",
        ("weights:FireRed-Image-Edit",),
        "{Super Intelligence Team}",
        "{FireRed-Image-Edit-1.0} Technical Report",
        2026,
        "github.com/FireRedTeam/FireRed-Image-Edit at 456d010, README.md",
        arxiv="2602.13344",
    ),
    BibliographyEntry(
        "longcat2025",
        ("weights:LongCat-Image",),
        "{Meituan LongCat Team} and Ma, Hanghang and Tan, Haoxian and Huang, Jiale and Wu, Junqiang and others",
        "{LongCat-Image} Technical Report",
        2025,
        "github.com/meituan-longcat/LongCat-Image at af39f67, README.md",
        arxiv="2512.07584",
    ),
    BibliographyEntry(
        "brooks2022instructpix2pix",
        ("weights:instruct-pix2pix",),
        "Brooks, Tim and Holynski, Aleksander and Efros, Alexei A.",
        "{InstructPix2Pix}: Learning to Follow Image Editing Instructions",
        2022,
        "github.com/timothybrooks/instruct-pix2pix at 0dffd1e, README.md",
        arxiv="2211.09800",
    ),
    # -- judges --
    BibliographyEntry(
        "qwen2026qwen35",
        ("weights:Qwen3.5-",),
        "{Qwen Team}",
        "{Qwen3.5}: Towards Native Multimodal Agents",
        2026,
        "github.com/QwenLM/Qwen3.5 at 7e103ae, README.md",
        url="https://qwen.ai/blog?id=qwen3.5",
    ),
    BibliographyEntry(
        "bai2025qwen3vl",
        ("weights:Qwen3-VL",),
        "Bai, Shuai and Cai, Yuxuan and Chen, Ruizhe and Chen, Keqin and Chen, Xionghui and Cheng, Zesen and others",
        "{Qwen3-VL} Technical Report",
        2025,
        "github.com/QwenLM/Qwen3-VL at 9658872, README.md",
        arxiv="2511.21631",
    ),
    BibliographyEntry(
        "bai2025qwen25vl",
        ("weights:Qwen2.5-VL",),
        "Bai, Shuai and Chen, Keqin and Liu, Xuejing and Wang, Jialin and Ge, Wenbin and Song, Sibo and others",
        "{Qwen2.5-VL} Technical Report",
        2025,
        "github.com/QwenLM/Qwen3-VL at 9658872, README.md",
        arxiv="2502.13923",
    ),
    # -- methods: as docs/trust.md names them --
    BibliographyEntry(
        "bell2002bias",
        ("method:cr2",),
        "Bell, Robert M. and McCaffrey, Daniel F.",
        "Bias Reduction in Standard Errors for Linear Regression with Multi-Stage Samples",
        2002,
        "docs/trust.md",
        place="Survey Methodology",
        detail="volume = {28}, number = {2}, pages = {169--181}",
    ),
    BibliographyEntry(
        "hall1992removal",
        ("method:hall",),
        "Hall, Peter",
        "On the Removal of Skewness by Transformation",
        1992,
        "docs/trust.md",
        place="Journal of the Royal Statistical Society, Series B",
        detail="volume = {54}, number = {1}, pages = {221--228}",
    ),
    BibliographyEntry(
        "holm1979simple",
        ("method:holm",),
        "Holm, Sture",
        "A Simple Sequentially Rejective Multiple Test Procedure",
        1979,
        "docs/trust.md",
        place="Scandinavian Journal of Statistics",
        detail="volume = {6}, number = {2}, pages = {65--70}",
    ),
    BibliographyEntry(
        "bradley1952rank",
        ("method:bradley-terry",),
        "Bradley, Ralph Allan and Terry, Milton E.",
        "Rank Analysis of Incomplete Block Designs: {I}. The Method of Paired Comparisons",
        1952,
        "statistics/preferences.py",
        place="Biometrika",
        detail="volume = {39}, number = {3/4}, pages = {324--345}",
    ),
)


def cited(*things: str) -> list[BibliographyEntry]:
    """Returns the entries for what is named, each once, in their order: `benchmark:gedit`, `weights:Qwen/Qwen3-VL-8B`.

    Weights are known by how the last part of their name begins, whoever keeps them and in whatever capitals.
    """
    return list(dict.fromkeys(reference for thing in things for reference in REFERENCES if _is_of(reference, thing)))


def _is_of(reference: BibliographyEntry, thing: str) -> bool:
    kind, _, name = thing.partition(":")
    if kind != "weights":
        return thing in reference.of
    bare = name.replace("\\", "/").rstrip("/").rpartition("/")[2].casefold()
    return any(
        of.startswith("weights:") and bare.startswith(of.removeprefix("weights:").casefold()) for of in reference.of
    )


def bibtex(references: Iterable[BibliographyEntry]) -> str:
    """Returns a file of entries for BibTeX."""
    return "\n".join(map(_entry, references))


def _entry(reference: BibliographyEntry) -> str:
    kind = (
        "misc" if reference.arxiv or reference.url else "inproceedings" if "Advances" in reference.place else "article"
    )
    where = "booktitle" if kind == "inproceedings" else "journal"
    fields = [f"author = {{{reference.authors}}}", f"title = {{{reference.title}}}", f"year = {{{reference.year}}}"]
    fields += [f"{where} = {{{reference.place}}}"] if reference.place else []
    fields += [reference.detail] if reference.detail else []
    if reference.arxiv:
        fields.append(f"eprint = {{{reference.arxiv}}}, archivePrefix = {{arXiv}}")
        fields.append(f"howpublished = {{arXiv:{reference.arxiv}}}")
    if reference.url:
        fields.append(f"howpublished = {{\\url{{{reference.url}}}}}")
    lines = ",\n".join(f"  {field}" for field in fields)
    return f"@{kind}{{{reference.key},\n{lines}\n}}\n"
