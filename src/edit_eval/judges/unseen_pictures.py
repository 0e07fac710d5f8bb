"""Detects judges that say they cannot see the picture. They have judged nothing, even if they give a number.

What cannot be seen *in* the picture is an observation: `I cannot see the umbrella`, `the image lacks the umbrella`,
`看不到图片中的雨伞`. So the picture must be the object or the subject of its clause, and what follows must end
the clause or continue about the picture as such.

Standard library only: this file also runs in the environments of judges.
"""

from __future__ import annotations

import re
from functools import cache

# -- English

_WHICH = (
    r"(?:(?:the|these|those|this|that|any|an?|your|both|either|one|all|of|two|actual|source|original"
    r"|edited|modified|input"
    r"|output|first|second|reference|before|after|attached|provided|uploaded|given|shared|supplied"
    r"|submitted|referenced"
    r"|mentioned|corresponding|or|and|nor) ){0,6}"
)
_PICTURE = r"(?:images?|pictures?|photos?|photographs?|attachments?|visual (?:content|inputs?))"
_HANDED_OVER = r"(?:provided|attached|uploaded|included|supplied|given|shared|sent|submitted|mentioned|referenced)"
_CLAUSE_ENDS = (
    r"(?=\s*(?:$|[.,;:!?)\]\"*`…–—]|'(?!s)|-\s|\n|(?:so|and|but|or|nor|to(?! be\b| have\b)|because|since"
    r"|due|you|here|itself"
    r"|themselves|directly|at all|clearly|properly|correctly|fully|well|yet|right now|now|currently"
    r"|myself|therefore|only"
    rf"|hence|then|i|{_HANDED_OVER}|(?:that|which) (?:you\b|(?:(?:was|were|is|are|has been"
    rf"|have been) )?{_HANDED_OVER})"
    r"|as (?:it|they|no|none|there|i)|in (?:this|your|our|the) (?:conversation|chat|messages?|prompt|request|context)"
    r"|from (?:here|your|this)|for (?:this|some|technical)|(?:files?|contents?|urls?|links?)(?=\W|$))(?![a-z]))|\Z)"
)
_CLAUSE_BEGINS = (
    r"(?:^|[.!?;:,(\n\"*{]\s*|\b(?:but|and|since|because|as|that|so|sorry|unfortunately|however|although|though"
    r"|while) )"
)
_NOT = r"(?:cannot|can't|can not|could not|couldn't)"
_UNABLE = (
    rf"(?:{_NOT}|(?:am |'m |was |are |'re )?(?:currently |still |also )?(?:unable to|not able to|incapable of)"
    r"|(?:do not|don't|did not|didn't) have (?:the|any) (?:ability|capability|means|way) to|lack the ability to"
    r"|have no (?:way|ability|means) (?:to|of))"
)
_SEE = r"(?:see|view|access|open|load|display|look at|perceive|receive|retrieve|download|seeing|viewing|accessing)"
_ADVERB = r"(?:(?:actually|directly|really|currently|physically|visually|even) )?"
_SPEAKER = r"\b(?:i|we)(?: also| still| currently)? ?"
_BE = r"(?:is|are|was|were|has been|have been|seems? to be|seems?|appears? to be|appears?)"
_ENGLISH = (
    # I cannot see the image; sorry, unable to view either picture
    rf"(?:{_SPEAKER}|{_CLAUSE_BEGINS}){_UNABLE} {_ADVERB}{_SEE} {_WHICH}{_PICTURE}{_CLAUSE_ENDS}",
    # As a text-based model I can't process images
    rf"{_SPEAKER}{_UNABLE} {_ADVERB}(?:process|analy[sz]e|interpret|inspect|examine"
    r"|read) (?:the (?:attached|provided|uploaded"
    rf") |any )?(?:images|pictures|photos|visual (?:content|inputs?)){_CLAUSE_ENDS}",
    # I don't see any image; I have not received the images; I only see one image
    rf"{_SPEAKER}(?:do not|don't|did not|didn't|haven't|have not|never) {_ADVERB}(?:see|have|receive"
    r"|received|got|get|seen)"
    rf"(?: access to)? {_WHICH}{_PICTURE}{_CLAUSE_ENDS}",
    rf"{_SPEAKER}(?:can |could |have )?(?:only )?(?:see|seen|view|got|have|received?) (?:only )?(?:no"
    r"|only one|only the first"
    rf"|only the source) (?:source |edited |original |attached )?(?:images?|pictures?){_CLAUSE_ENDS}",
    rf"{_SPEAKER}(?:can |could )?only (?:see|view|got|have|received?) (?:one|a single|the first|the source"
    r"|the original)"
    rf" (?:images?|pictures?){_CLAUSE_ENDS}",
    # without access to the images
    r"\b(?:without|no|lack(?:ing)?|not having) (?:direct |visual |any )?(?:access to|being able to (?:see"
    r"|view|access)|seeing"
    rf"|viewing) {_WHICH}{_PICTURE}{_CLAUSE_ENDS}",
    # no image was provided; there is no edited image
    rf"(?:{_CLAUSE_BEGINS}|\bthere (?:is|are|was|were) )(?:there (?:is|are|was|were) )?no (?:source "
    r"|edited |original |second )?"
    rf"(?:images?|attachments?)(?: {_BE})?(?: {_HANDED_OVER}| visible| available| found| present| here)?"
    rf"(?: to (?:see|view|judge|evaluate|assess|score|rate|compare))?{_CLAUSE_ENDS}",
    # the edited image is not visible, was not provided, failed to load
    rf"{_CLAUSE_BEGINS}{_WHICH}(?:images?|attachments?|(?:source|edited|original|attached|provided|second"
    r"|first) (?:pictures?"
    rf"|photos?))(?: (?:that )?you {_HANDED_OVER})? (?:{_BE} (?:currently |apparently )?(?:(?:not"
    r"|never) (?:visible|available"
    rf"|accessible|viewable|displayed|shown|loaded|loading|{_HANDED_OVER})|unavailable|inaccessible|missing)"
    r"|(?:isn't|aren't|wasn't|weren't) (?:visible|available|accessible|viewable|displayed|shown|loaded"
    rf"|loading|{_HANDED_OVER})"
    rf"|{_NOT} be (?:seen|viewed|accessed|opened|loaded|displayed|retrieved|read|shown)"
    r"|(?:did|does|do) ?(?:not|n't) (?:load|open|display|render|come through)|failed to (?:load|open|display|render))"
    rf"{_CLAUSE_ENDS}",
)

# -- Chinese

_ZH_WHICH = (
    r"(?:任何|这|那|此|该|两|這|該|兩|一|张|張|幅|个|份|您|你|用户|所|提供|上传|发送|附上|给出|给定|的"
    r"|原始?|源|编辑|修改|前|后|之"
    r"|和|与|及|实际|相关|到|過|过|、){0,12}"
)
_ZH_PICTURE = r"(?:图片|图像|照片|影像|圖片|圖像|附件|原图|图)"
_ZH_ENDS = (
    r"(?=\s*(?:$|[，。,.；;！!？?：:、…）)\n\"*]|(?:的?(?:内容|內容)|本身|文件)(?=\s*(?:$"
    r"|[，。,.；;！!\n]|所以|因此))|所以|因此|故"
    r"|但|而且|并|來|来|进行|进而|供|可供|可以))"
)
_ZH_BEGINS = r"(?:^|[，。,.；;！!：:、\n\"*{（(]\s*|因为|因為|由于|由於|但是?|而且?|且|所以|抱歉|遗憾|对不起)\s*"
_ZH_UNABLE = r"(?:无法|無法|不能|没法|没有办法|沒辦法|未能|没能)(?:直接|实际|真正|正常|成功)?"
_ZH_SEE = r"(?:看到|看见|看見|看清|查看|查閱|浏览|访问|打开|加载|读取|获取|接收到?|收到|显示|看)"
_CHINESE = (
    rf"{_ZH_UNABLE}{_ZH_SEE}{_ZH_WHICH}{_ZH_PICTURE}{_ZH_ENDS}",
    rf"{_ZH_UNABLE}(?:处理|分析|识别|處理){_ZH_WHICH}(?:图片|图像|照片|影像|圖片|圖像){_ZH_ENDS}",
    rf"(?:看不到|看不见|看不見|看不了|打不开){_ZH_WHICH}{_ZH_PICTURE}{_ZH_ENDS}",
    rf"(?:没有?|沒有?|并未|尚未|未){_ZH_SEE}{_ZH_WHICH}{_ZH_PICTURE}{_ZH_ENDS}",
    r"(?:没有?|沒有?|并未|尚未|未)(?:提供|上传|发送|附上|附带|给出|收到)(?:任何|原始|编辑后的|需要评价的"
    rf"|相关的?)?{_ZH_PICTURE}{_ZH_ENDS}",
    rf"{_ZH_BEGINS}(?:这里|此处)?(?:没有|沒有|并无)(?:任何)?(?:图片|图像|圖片|圖像){_ZH_ENDS}",
    rf"{_ZH_BEGINS}{_ZH_WHICH}(?:图片|图像|照片|影像|圖片|圖像|附件)(?:{_ZH_UNABLE}被?{_ZH_SEE}|(?:没有?"
    r"|沒有?|未|并未)(?:被|能)?(?:正常|成功)?(?:显示|加载|打开"
    rf"|提供|上传|收到|附上|附带)(?:出来|成功)?|缺失|不可见|不可用|加载失败|打不开|看不到|看不见){_ZH_ENDS}",
)

_IN_ENGLISH = ("image", "picture", "photo", "attachment", "visual content", "visual input")
_MENTIONED = re.compile("|".join((*_IN_ENGLISH, "图", "圖", "照片", "影像", "附件")), re.I)


@cache
def _unseen() -> re.Pattern[str]:
    """Compiled by the first reply that speaks of pictures: it takes longer than all else that a start compiles."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in (*_ENGLISH, *_CHINESE)), re.I)


def says_picture_unseen(text: str) -> bool:
    """True if a text, without thoughts, says that the picture, or one of the two, cannot be seen."""
    if text.isascii():  # most are; a search for each word is twenty times as fast
        lower = text.lower()
        if not any(word in lower for word in _IN_ENGLISH):
            return False
    elif not _MENTIONED.search(text):
        return False
    # One space at most in a row, so that no pattern looks at the same ones twice. JSON writes a line's end as `\\n`.
    lines = (" ".join(line.split()) for line in text.replace("’", "'").replace("\\n", "\n").splitlines())
    return bool(_unseen().search("\n".join(filter(None, lines))))
