"""The numbers of a comparison of two models, computed once more, by somebody who had not read `edit_eval.statistics`.

Written from the sources alone, and slowly on purpose: every sum is a loop, every matrix is written out at the level of
single differences, every equation is solved by bisection. Where a formula of the library was simplified, this one was not.

    Bell and McCaffrey, Survey Methodology 28 (2002): CR2 and its degrees of freedom
    Hall, JRSS B 54 (1992): taking the skewness out of t
    Bahadur and Savage, Annals of Mathematical Statistics 27 (1956): why a rare kind of image must be named beside a p-value
    Angelopoulos, Duchi and Zrnic, arXiv 2311.01453 (2023), PPI++: the tuned weight
    Wolter, Introduction to Variance Estimation (2007), chapter 4: the jackknife in strata

A sample of differences is `{image: [difference, ...]}`, at least one difference an image.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from scipy.stats import t as student

FEWEST_IMAGES, FEWEST_IMAGES_THAT_PEOPLE_SAW = 6, 8
LEAST_WORTH = 4  # images of equal weight that the images must count for
MOST_SKEWED = 0.5  # docs/trust.md, "Intervals": the skewness of the mean is cut there
SAME = 1e-9  # numbers this close are one number


@dataclass(frozen=True)
class Found:
    """What can be said of a mean: `why` is set, and the interval and p are None, where there is no interval."""

    mean: float
    error: float | None = None
    freedom: float | None = None
    p: float | None = None
    interval: tuple[float, float] | None = None
    why: str | None = None


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
    eigenvalue (1 - n_g / N)^(-1/2), and only the sum over the image is used. So the variance is the sum over g of (b_g y)^2,
    b_g a row of N numbers. If the y are independent and alike, a sum of such squares has the mean tr(P) and
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
        math.fsum(b * c for b, c in zip(row, other, strict=True)) ** 2 for row in rows.values() for other in rows.values()
    )

    # Images are now the random numbers, z_h for all differences of image h. Var(mean) = sum of share^2; of each (b_g y)^2 the mean
    # is the sum over h of (what b_g gives to image h)^2.
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
    """Student's t, with the skewness a of the mean taken out (Hall's third-degree transformation, which never falls)."""
    return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6


def hall_solved(z, a):
    """The t with hall(t, a) = z, by bisection."""
    low, high = -1.0, 1.0
    while hall(low, a) > z:
        low *= 2
    while hall(high, a) < z:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if hall(middle, a) < z:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def hull(middle, error, freedom, a, level=0.95):
    """From the smallest end to the largest of Student's interval and of Hall's."""
    q = float(student.ppf((1 + level) / 2, freedom))
    by_student = (middle - q * error, middle + q * error)
    # -q <= hall((middle - truth) / error) <= q, solved for the truth: the right end of t gives the left end of the interval
    by_hall = (middle - hall_solved(q, a) * error, middle - hall_solved(-q, a) * error)
    return min(by_student[0], by_hall[0]), max(by_student[1], by_hall[1])


def larger_p(middle, error, freedom, a):
    """p of "the truth is 0": both Student's and Hall's have to reject it."""
    t = middle / error
    return max(2 * float(student.sf(abs(t), freedom)), 2 * float(student.sf(abs(hall(t, a)), freedom)))


def of_differences(differences):
    """The mean difference, for images like these."""
    d = mean(differences)
    if len(differences) < FEWEST_IMAGES:
        return Found(d, why="few images")
    if all_alike(image_means(differences).values()):
        return Found(d, why="no spread")
    if worth(differences) < LEAST_WORTH:
        return Found(d, why="too uneven")
    error, freedom = cr2(differences)
    a = skewness_of_mean(differences)
    return Found(d, error, freedom, larger_p(d, error, freedom, a), hull(d, error, freedom, a))


# Beside the interval, at every number of images


def tipping_share(d, scale):
    """The share s of images of a kind that was not seen, each worse by the whole scale, with (1 - s) |d| - s scale = 0."""
    return abs(d) / (scale + abs(d))


def ruled_out_share(differences):
    """The share s of a kind of which as many images as these show none with a probability of .05: (1 - s)^worth = .05."""
    return 1 - 0.05 ** float(1 / worth(differences))


def wins_and_losses(differences):
    means = image_means(differences).values()
    return sum(x > SAME for x in means), sum(x < -SAME for x in means)


def sign_test(wins, losses):
    """Exact, two-sided: all 2^(wins + losses) ways to give each image to one of the two are equally likely."""
    n, seen = wins + losses, abs(wins - losses)
    as_extreme = sum(math.comb(n, heads) for heads in range(n + 1) if abs(heads - (n - heads)) >= seen)
    return as_extreme / 2**n


def strict_p(differences, scale):
    """For a gate: not below the chance that images which would undo the difference stayed unseen. None without a p."""
    found = of_differences(differences)
    if found.p is None:
        return None
    unseen = (1 - tipping_share(found.mean, scale)) ** float(worth(differences))
    return max(found.p, unseen)


# What people would say


@dataclass(frozen=True)
class Corrected:
    """As `Found`, and how much the judge counts."""

    mean: float
    weight: float
    error: float | None = None
    freedom: float | None = None
    interval: tuple[float, float] | None = None
    why: str | None = None


def people_corrected(rated, unrated):
    """People's mean difference over all samples, from people's on some and a judge's on all.

    rated: `{image: [(people's difference, judge's difference), ...]}`; unrated: `{image: [judge's difference, ...]}`; no
    image is in both.

        mean    people's on the rated - weight * (judge's on the rated - judge's on the unrated)
        weight  slope of people's on the judge's in the rated samples, never below 0, * share of samples that are unrated
        error   one image is deleted at a time, among the rated, then among the unrated; the slope is fitted anew each time.
                The share of samples that are unrated belongs to the design and stays.
        freedom Satterthwaite's, of (rated images - 2: a mean and a slope were fitted) and (unrated images - 1)
        skew    of what deletion does, over the rated images; the unrated ones add variance and no skewness
    """
    k, u = len(rated), len(unrated)
    seen, unseen = sum(map(len, rated.values())), sum(map(len, unrated.values()))
    share = unseen / (seen + unseen)

    def estimate(rated, unrated):
        pairs = [pair for of_image in rated.values() for pair in of_image]
        people = math.fsum(y for y, _ in pairs) / len(pairs)
        judge = math.fsum(f for _, f in pairs) / len(pairs)
        across = math.fsum((y - people) * (f - judge) for y, f in pairs)
        spread = math.fsum((f - judge) ** 2 for _, f in pairs)
        slope = max(0.0, across / spread) if spread > SAME else 0.0
        if not unrated:
            return people, 0.0
        rest = [f for of_image in unrated.values() for f in of_image]
        weight = slope * share
        return people - weight * (judge - math.fsum(rest) / len(rest)), weight

    middle, weight = estimate(rated, unrated)
    if k < FEWEST_IMAGES_THAT_PEOPLE_SAW:
        return Corrected(middle, weight, why="few images")
    if worth(rated) < LEAST_WORTH:
        return Corrected(middle, weight, why="too uneven")

    without = [estimate({h: v for h, v in rated.items() if h != g}, unrated)[0] for g in rated]
    average = math.fsum(without) / k
    of_rated = (k - 1) / k * math.fsum((x - average) ** 2 for x in without)
    of_unrated = 0.0
    if u > 1:
        # The weight does not change: it was fitted to the rated.
        without_other = [estimate(rated, {h: v for h, v in unrated.items() if h != g})[0] for g in unrated]
        middle_other = math.fsum(without_other) / u
        of_unrated = (u - 1) / u * math.fsum((x - middle_other) ** 2 for x in without_other)
    error = math.sqrt(of_rated + of_unrated)
    if error <= SAME:
        return Corrected(middle, weight, why="no spread")

    bottom = of_rated**2 / (k - 2) + (of_unrated**2 / (u - 1) if u > 1 else 0.0)
    freedom = (of_rated + of_unrated) ** 2 / bottom
    a = 0.0
    if of_rated > SAME**2:
        # Who raises the mean lowers it when deleted.
        a = skewness([average - x for x in without]) / math.sqrt(k) * (of_rated / (of_rated + of_unrated)) ** 1.5
    return Corrected(middle, weight, error, freedom, hull(middle, error, freedom, cut(a)))
