"""The numbers of a comparison of two models, computed once more, by somebody who had not read `edit_eval.statistics`.

Written from the sources alone, and slowly on purpose: every sum is a loop, every matrix is written out at the level of
single differences, every equation is solved by bisection. Where the library simplifies a formula, this does not.

    Bell and McCaffrey, Survey Methodology 28 (2002): CR2 and its degrees of freedom
    Hall, JRSS B 54 (1992): taking the skewness out of t
    Bahadur and Savage, Annals of Mathematical Statistics 27 (1956): a rare kind of image must be named beside a p-value
    Angelopoulos, Duchi and Zrnic, arXiv 2311.01453 (2023), PPI++: the tuned weight
    Wolter, Introduction to Variance Estimation (2007), chapter 4: the jackknife in strata

What these leave open was settled once both could be compared: no sign test below six images; what people say has
degrees of freedom by what unequal images are worth, a slope over the larger of two spreads of the judge, and no weight
where one image alone is without answers.

A sample of differences is `{image: [difference, ...]}`, at least one difference an image.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from scipy.special import betainc, betaincinv

FEWEST_IMAGES, FEWEST_IMAGES_THAT_PEOPLE_SAW = 6, 8
LEAST_WORTH = 4  # images of equal weight that the images must count for
MOST_SKEWED = 0.5  # docs/trust.md, "Intervals": the skewness of the mean is cut there
SAME = 1e-9  # numbers this close are one number
SAME_SQUARES = 1e-12  # and a sum of squares so small beside those about 0 has no spread


@dataclass(frozen=True)
class Found:
    """What can be said of a mean: no error, p and interval where there is a reason for none."""

    mean: float
    error: float | None = None
    freedom: float | None = None
    p: float | None = None
    interval: tuple[float, float] | None = None
    reasons: tuple[str, ...] = ()


def shares(differences):
    """Which part of all differences belongs to each image."""
    total = sum(len(of_image) for of_image in differences.values())
    return {image: len(of_image) / total for image, of_image in differences.items()}


def worth(differences):
    """How many images of equal weight the images count for, 1 / sum of squared shares; exact, as 4 is a limit."""
    total = sum(len(of_image) for of_image in differences.values())
    return Fraction(total**2, sum(len(of_image) ** 2 for of_image in differences.values()))


def mean(differences):
    every = [difference for of_image in differences.values() for difference in of_image]
    return math.fsum(every) / len(every)


def image_means(differences):
    return {image: math.fsum(of_image) / len(of_image) for image, of_image in differences.items()}


def all_alike(numbers):
    return max(numbers) - min(numbers) <= SAME


def cr2(differences):
    """Standard error and degrees of freedom of the mean (Bell and McCaffrey).

    The residuals of image g are multiplied by (I - H_gg)^(-1/2), H = 1 1' / N. Ones are an eigenvector of it, with the
    eigenvalue (1 - n_g / N)^(-1/2), and only the sum over the image is used. So the variance is the sum over g of
    (b_g y)^2, b_g a row of N numbers. If the y are independent and alike, a sum of such squares has the mean tr(P) and
    the variance 2 tr(P P), P_gh = b_g b_h: those of chi-square with tr(P)^2 / tr(P P) degrees of freedom, scaled.

    It is then multiplied by what makes it unbiased in the other extreme, too: where all differences of an image are
    the same, and images independent and alike.
    """
    image_of = [image for image, of_image in differences.items() for _ in of_image]
    y = [difference for of_image in differences.values() for difference in of_image]
    n = len(y)
    rows = {}
    for g in differences:
        share = image_of.count(g) / n
        rows[g] = [((1 if image == g else 0) - share) / math.sqrt(1 - share) / n for image in image_of]

    variance = math.fsum(math.fsum(b * v for b, v in zip(row, y, strict=True)) ** 2 for row in rows.values())
    trace = math.fsum(math.fsum(b * b for b in row) for row in rows.values())
    of_square = math.fsum(
        math.fsum(b * c for b, c in zip(row, other, strict=True)) ** 2
        for row in rows.values()
        for other in rows.values()
    )

    # Images are now the random numbers, z_h for all differences of image h. The mean's variance is the sum of share^2;
    # of (b_g y)^2 the mean is the sum over h of (what b_g gives to image h)^2.
    true = math.fsum(share**2 for share in shares(differences).values())
    estimated = 0.0
    for row in rows.values():
        for h in differences:
            estimated += math.fsum(b for b, image in zip(row, image_of, strict=True) if image == h) ** 2
    return math.sqrt(variance * true / estimated), trace**2 / of_square


def skewness(numbers):
    """Third central moment / second^1.5, both with n in the denominator."""
    middle = math.fsum(numbers) / len(numbers)
    second = math.fsum((x - middle) ** 2 for x in numbers) / len(numbers)
    third = math.fsum((x - middle) ** 3 for x in numbers) / len(numbers)
    return third / second**1.5


def skewness_of_mean(differences):
    """If image means are independent with one skewness, their sum with the shares as weights has this one."""
    third = second = 0.0
    for share in shares(differences).values():
        third += share**3
        second += share**2
    return cut(skewness(list(image_means(differences).values())) * third / second**1.5)


def cut(a):
    return max(-MOST_SKEWED, min(MOST_SKEWED, a))


def hall(t, a):
    """Student's t, with the skewness a of the mean taken out; it never falls (Hall)."""
    return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6


def hall_solved(z, a):
    """The t with hall(t, a) = z, by bisection."""
    low, high = -1.0, 1.0
    while hall(low, a) > z:
        low *= 2
    while hall(high, a) < z:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if hall(middle, a) < z:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def two_sided(t, freedom):
    """The probability that Student's t is further from 0: a regularised incomplete beta function."""
    return float(betainc(freedom / 2, 0.5, freedom / (freedom + t * t)))


def quantile(freedom, tails):
    share = float(betaincinv(freedom / 2, 0.5, tails))
    return math.sqrt(freedom * (1 - share) / share)


def hull(middle, error, freedom, a, tails=0.05):
    """From the smallest end to the largest of Student's interval and of Hall's; 95 % unless more is in the tails."""
    q = quantile(freedom, tails)
    by_student = (middle - q * error, middle + q * error)
    # -q <= hall((middle - truth) / error) <= q, solved for the truth: t's right end gives the interval's left one.
    by_hall = (middle - hall_solved(q, a) * error, middle - hall_solved(-q, a) * error)
    return min(by_student[0], by_hall[0]), max(by_student[1], by_hall[1])


def larger_p(middle, error, freedom, a):
    """p of "the truth is 0": both Student's and Hall's have to reject it."""
    t = middle / error
    return max(two_sided(t, freedom), two_sided(hall(t, a), freedom))


def of_differences(differences):
    """The mean difference, for images like these."""
    d = mean(differences)
    reasons = []
    if len(differences) == 1:
        reasons.append("one_image")
    if len(differences) < FEWEST_IMAGES:
        reasons.append("few_images")
    if all_alike(image_means(differences).values()):
        reasons.append("no_spread")
    if worth(differences) < LEAST_WORTH:
        reasons.append("too_uneven")
    if reasons:
        return Found(d, reasons=tuple(reasons))
    error, freedom = cr2(differences)
    a = skewness_of_mean(differences)
    return Found(d, error, freedom, larger_p(d, error, freedom, a), hull(d, error, freedom, a))


# Beside the interval, at every number of images


def tipping_share(d, scale):
    """The share s of unseen images, each worse by the whole scale, with (1 - s) |d| - s scale = 0."""
    return abs(d) / (scale + abs(d))


def ruled_out_share(differences):
    """The share s of a kind of image of which these show none with a probability of .05: (1 - s)^worth = .05."""
    return 1 - 0.05 ** float(1 / worth(differences))


def wins_and_losses(differences):
    means = image_means(differences).values()
    return sum(x > SAME for x in means), sum(x < -SAME for x in means)


def sign_test(differences):
    """Exact, two-sided: all 2^(wins + losses) ways to give each image to one of the two are equally likely."""
    wins, losses = wins_and_losses(differences)
    n = wins + losses
    if n == 0 or len(differences) < FEWEST_IMAGES:
        return None
    return sum(math.comb(n, heads) for heads in range(n + 1) if abs(n - 2 * heads) >= abs(wins - losses)) / 2**n


def exact(differences):
    """The exact test of signs, and whether it decides alone: every way to give each image's sum its sign, counted.

    Alone where all sums that are not 0 are of one size; where all are on one side, only if it says more. Else None.
    """
    sums = [math.fsum(of_image) for of_image in differences.values()]
    largest = max(map(abs, sums))
    there = [x for x in sums if abs(x) > SAME * largest]
    alone = bool(there) and max(map(abs, there)) - min(map(abs, there)) <= SAME * largest
    one_side = len(there) == len(sums) and len({x > 0 for x in sums}) == 1
    if not (alone or one_side) or len(differences) < FEWEST_IMAGES or worth(differences) < LEAST_WORTH:
        return None
    n, won = len(there), sum(x > 0 for x in there)
    return sum(math.comb(n, k) for k in range(n + 1) if abs(n - 2 * k) >= abs(n - 2 * won)) / 2**n, alone


def tested(differences):
    """The p of "no difference": exact where that decides, else that of the interval."""
    found, signs = of_differences(differences).p, exact(differences)
    if signs is None:
        return found
    return signs[0] if signs[1] or found is None else min(found, signs[0])


def strict_end(differences, scale, alpha):
    """The lower end of the one-sided interval for a gate. None without an interval.

    Were the true mean m, a share s of images would have to be of an unseen kind, each worse by the whole scale:
    (1 - s) d - s scale = m. Below m that share stays unseen with a probability (1 - s)^worth of less than alpha.
    """
    estimate = of_differences(differences)
    if estimate.p is None and ("no_spread" not in estimate.reasons or (tested(differences) or 1) > 2 * alpha):
        return None
    low, high = -scale, estimate.mean
    for _ in range(100):
        m = (low + high) / 2
        if ((scale + m) / (scale + estimate.mean)) ** float(worth(differences)) < alpha:
            low = m
        else:
            high = m
    if estimate.p is None:
        return max(-scale, min(low, estimate.mean))
    a = skewness_of_mean(differences)
    return max(-scale, min(low, hull(estimate.mean, estimate.error, estimate.freedom, a, 2 * alpha)[0]))


# What people would say


@dataclass(frozen=True)
class Corrected:
    """As `Found`, and how much the judge counts."""

    mean: float
    weight: float
    error: float | None = None
    freedom: float | None = None
    interval: tuple[float, float] | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """One sample: the judge's difference, and people's with what it counts, or None."""

    judge: float
    people: float | None = None
    counts: float = 1.0


def people_corrected(samples):
    """People's mean difference over all samples, `{image: [Seen, ...]}`, from people's on some and a judge's on all.

    mean    people's on what they saw - slope * (the judge's on that - the judge's on all samples)
    slope   of people's on the judge's, never below 0; over the judge's spread over all samples where it is larger;
            the weight is slope * share of samples that people did not see
    error   one image is deleted at a time, among those that people saw in part, then among the others, and all is made
            anew but the share of samples that they did not see and the judge's spread over all
    freedom Satterthwaite's, of (what those are worth - 2: a mean and a slope) and (what the others are worth - 1)
    skew    of what deletion does among the images that people saw; the others add variance and no skewness
    """
    every = [sample for of_image in samples.values() for sample in of_image]
    unseen = sum(sample.people is None for sample in every) / len(every)
    inside = {image: [x for x in v if x.people is not None] for image, v in samples.items()}
    beyond = {image: [x for x in v if x.people is None] for image, v in samples.items()}
    inside, beyond = ({image: v for image, v in part.items() if v} for part in (inside, beyond))
    others = [image for image in samples if image not in inside]
    can_tell = len(others) != 1 and len(beyond) != 1  # else nothing shows how far off the judge's mean beyond may be

    level = math.fsum(x.judge for x in every) / len(every)
    variance = math.fsum((x.judge - level) ** 2 for x in every) / len(every)
    varies = variance > SAME_SQUARES * math.fsum(x.judge**2 for x in every) / len(every)

    def slope_of(of):
        total = math.fsum(x.counts for x in of)
        people = math.fsum(x.counts * x.people for x in of) / total
        judge = math.fsum(x.counts * x.judge for x in of) / total
        if not can_tell or not varies:
            return people, judge, None
        spread = math.fsum(x.counts * (x.judge - judge) ** 2 for x in of)
        across = math.fsum(x.counts * (x.people - people) * (x.judge - judge) for x in of)
        return people, judge, max(0.0, across / max(spread, total * variance))

    def estimate(without=None):
        of = [x for image, v in inside.items() if image != without for x in v]
        people, judge, slope = slope_of(of)
        if slope is None:
            return people
        on_all = (1 - unseen) * math.fsum(x.judge for x in of) / len(of)
        if unseen:
            rest = [x.judge for image, v in beyond.items() if image != without for x in v]
            on_all += unseen * math.fsum(rest) / len(rest)
        return people - slope * (judge - on_all)

    middle, slope = estimate(), slope_of(of_all(inside))[2]
    weight = (slope or 0.0) * unseen
    counts = [math.fsum(x.counts for x in v) for v in inside.values()]
    reasons = []
    if len(inside) < FEWEST_IMAGES_THAT_PEOPLE_SAW:
        reasons.append("few_images")
    if worth_of(counts) < LEAST_WORTH:
        reasons.append("too_uneven")
    moved, of_inside = jackknife([estimate(image) for image in inside]) if len(inside) > 1 else ([], 0.0)
    if math.sqrt(of_inside) <= SAME:
        reasons.append("no_spread")
    if reasons:
        return Corrected(middle, weight, reasons=tuple(reasons))
    _, of_others = jackknife([estimate(image) for image in others]) if len(others) > 1 else ([], 0.0)

    square = of_inside + of_others
    bottom = of_inside**2 / (worth_of(counts) - (1 if slope is None else 2))
    if of_others:
        bottom += of_others**2 / (worth_of([len(beyond[image]) for image in others]) - 1)
    freedom = square**2 / bottom
    # Who raises the mean lowers it when deleted.
    a = -skewness(moved) / math.sqrt(len(moved)) * (of_inside / square) ** 1.5
    return Corrected(middle, weight, math.sqrt(square), freedom, hull(middle, math.sqrt(square), freedom, cut(a)))


def of_all(images):
    return [x for of_image in images.values() for x in of_image]


def worth_of(sizes):
    return math.fsum(sizes) ** 2 / math.fsum(size**2 for size in sizes)


def jackknife(without):
    """How each deletion moves the estimate, and the variance that follows."""
    average = math.fsum(without) / len(without)
    moved = [x - average for x in without]
    return moved, (len(moved) - 1) / len(moved) * math.fsum(x**2 for x in moved)
