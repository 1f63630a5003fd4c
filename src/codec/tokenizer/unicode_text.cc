#include "codec/tokenizer/unicode_text.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "codec/tokenizer/unicode_class.h"

namespace forebay::unicode {

namespace {

struct CodeRange {
  uint32_t first, last;
};
struct CodeRun {
  uint32_t first, last, step;
  int32_t difference;
};
struct ClassRange {
  uint32_t first, last, of;
};
#include "codec/tokenizer/unicode_tables.inl"

constexpr uint32_t kAll = 0x110000;
constexpr CodeRange kChinese[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
                                  {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
// Hangul is composed by arithmetic (Unicode, section 3.12).
constexpr uint32_t kSyllables = 0xac00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11a7, kVowelCount = 21,
                   kTailCount = 28, kSyllableCount = 11172, kLeadCount = 19;

enum Flag : uint8_t {
  kIsRemovedByBert = 1,
  kIsPunctuation = 2,
  kIsNonspacing = 4,
  kIsCombining = 8,
  kIsWord = 16,
  kIsChinese = 32
};

/// The property Grapheme_Cluster_Break of UAX #29. kBreak stands for CR, LF and Control.
enum class GraphemeBreak : uint8_t {
  kOther,
  kBreak,
  kExtend,
  kPrepend,
  kExtendedPictographic,
  kL,
  kV,
  kT,
  kLV,
  kLVT,
  kRegionalIndicator
};
/// The property Indic_Conjunct_Break (rule GB9c).
enum class IndicConjunctBreak : uint8_t { kNone, kConsonant, kLinker, kExtend };

struct Entry {
  uint8_t flags = 0, mark_class = 0;
  GraphemeBreak grapheme_break = GraphemeBreak::kOther;
  IndicConjunctBreak conjunct_break = IndicConjunctBreak::kNone;
};

/// Properties of all characters: built once per process, about 5 MB.
class Tables {
 public:
  Tables() : entries(std::make_unique<Entry[]>(kAll)) {
    flag(kCleaned, kIsRemovedByBert);
    flag(kPunctuation, kIsPunctuation);
    flag(kNonspacing, kIsNonspacing);
    flag(kCombining, kIsCombining);
    flag(kWordChars, kIsWord);
    flag(kChinese, kIsChinese);
    for (const ClassRange& range : kClasses) {
      for (uint32_t code = range.first; code <= range.last; ++code)
        entries[code].mark_class = static_cast<uint8_t>(range.of);
    }
    for (const CodeRun& run : kLower) {
      for (uint32_t code = run.first; code <= run.last; code += run.step)
        lower[code] = static_cast<uint32_t>(static_cast<int32_t>(code) + run.difference);
    }
    set_breaks();
    index(kCanonical, canonical);
    index(kCompatible, compatible);
    for (size_t at = 0; at < std::size(kPairs); at += 3)
      pairs[static_cast<uint64_t>(kPairs[at]) << 32 | kPairs[at + 1]] = kPairs[at + 2];
  }

  std::unique_ptr<Entry[]> entries;
  std::unordered_map<uint32_t, uint32_t> lower;
  /// Maps to the number of codes, followed by them.
  std::unordered_map<uint32_t, const uint32_t*> canonical, compatible;
  std::unordered_map<uint64_t, uint32_t> pairs;

 private:
  template <size_t n>
  void flag(const CodeRange (&ranges)[n], Flag flag) {
    for (const CodeRange& range : ranges) {
      for (uint32_t code = range.first; code <= range.last; ++code) entries[code].flags |= flag;
    }
  }
  template <size_t n>
  void set(const CodeRange (&ranges)[n], GraphemeBreak value) {
    for (const CodeRange& range : ranges) {
      for (uint32_t code = range.first; code <= range.last; ++code) entries[code].grapheme_break = value;
    }
  }
  template <size_t n>
  void set(const CodeRange (&ranges)[n], IndicConjunctBreak value) {
    for (const CodeRange& range : ranges) {
      for (uint32_t code = range.first; code <= range.last; ++code) entries[code].conjunct_break = value;
    }
  }
  template <size_t n>
  static void index(const uint32_t (&flat)[n], std::unordered_map<uint32_t, const uint32_t*>& of) {
    // Each entry holds a code, the number of codes, and these codes.
    for (size_t at = 0; at < n; at += 2 + flat[at + 1]) of[flat[at]] = flat + at + 1;
  }
  void set_breaks() {
    set({{0x1100, 0x115f}, {0xa960, 0xa97c}}, GraphemeBreak::kL);
    set({{0x1160, 0x11a7}, {0xd7b0, 0xd7c6}}, GraphemeBreak::kV);
    set({{0x11a8, 0x11ff}, {0xd7cb, 0xd7fb}}, GraphemeBreak::kT);
    for (uint32_t code = kSyllables; code < kSyllables + kSyllableCount; ++code)
      entries[code].grapheme_break = (code - kSyllables) % kTailCount == 0 ? GraphemeBreak::kLV : GraphemeBreak::kLVT;
    set({{0x1f1e6, 0x1f1ff}}, GraphemeBreak::kRegionalIndicator);
    set(kPictures, GraphemeBreak::kExtendedPictographic);
    set(kExtends, GraphemeBreak::kExtend);
    set(kPrepends, GraphemeBreak::kPrepend);
    set(kBreaks, GraphemeBreak::kBreak);
    set(kConjunctExtends, IndicConjunctBreak::kExtend);
    set(kConsonants, IndicConjunctBreak::kConsonant);
    set(kLinkers, IndicConjunctBreak::kLinker);
  }
};

const Tables& tables() {
  static const Tables made;
  return made;
}

const Entry& entry(uint32_t code) { return tables().entries[code < kAll ? code : 0xfffd]; }
bool has(uint32_t code, Flag flag) { return (entry(code).flags & flag) != 0; }

// GB6 to GB9b, except for rules that look further back.
bool may_join_before(const Entry& before, const Entry& next) {
  const GraphemeBreak a = before.grapheme_break, b = next.grapheme_break;
  if (a == GraphemeBreak::kBreak || b == GraphemeBreak::kBreak) return false;
  if (b == GraphemeBreak::kExtend || a == GraphemeBreak::kPrepend) return true;
  if (a == GraphemeBreak::kL)
    return b == GraphemeBreak::kL || b == GraphemeBreak::kV || b == GraphemeBreak::kLV || b == GraphemeBreak::kLVT;
  if (a == GraphemeBreak::kLV || a == GraphemeBreak::kV) return b == GraphemeBreak::kV || b == GraphemeBreak::kT;
  return (a == GraphemeBreak::kLVT || a == GraphemeBreak::kT) && b == GraphemeBreak::kT;
}

}  // namespace

bool is_space(uint32_t code) { return char_class(code) == CharClass::kSpace; }
bool is_removed_by_bert(uint32_t code) { return has(code, kIsRemovedByBert); }
bool is_punctuation(uint32_t code) { return has(code, kIsPunctuation); }
bool is_nonspacing(uint32_t code) { return has(code, kIsNonspacing); }
bool is_combining(uint32_t code) { return has(code, kIsCombining); }
bool is_word(uint32_t code) { return has(code, kIsWord); }
bool is_chinese(uint32_t code) { return has(code, kIsChinese); }

LowerCase lower(uint32_t code) {
  if (code < 0x80) return {code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code};
  if (code == 0x130) return {'i', 0x307};  // the only character that becomes two
  const auto found = tables().lower.find(code);
  return {found == tables().lower.end() ? code : found->second};
}

void decompose(uint32_t code, bool compatible, std::vector<uint32_t>& out) {
  if (code < 0x80) return out.push_back(code);
  if (code >= kSyllables && code < kSyllables + kSyllableCount) {
    const uint32_t syllable = code - kSyllables, tail = syllable % kTailCount;
    out.push_back(kLeads + syllable / (kVowelCount * kTailCount));
    out.push_back(kVowels + syllable / kTailCount % kVowelCount);
    if (tail != 0) out.push_back(kTails + tail);
    return;
  }
  const Tables& all = tables();
  const uint32_t* parts = nullptr;
  if (compatible) {
    if (const auto found = all.compatible.find(code); found != all.compatible.end()) parts = found->second;
  }
  if (parts == nullptr) {
    if (const auto found = all.canonical.find(code); found != all.canonical.end()) parts = found->second;
  }
  if (parts == nullptr) return out.push_back(code);
  out.insert(out.end(), parts + 1, parts + 1 + *parts);
}

void order_marks(std::vector<uint32_t>& codes) {
  const auto class_of = [](uint32_t code) { return code < 0x80 ? 0 : entry(code).mark_class; };
  for (size_t at = 0; at < codes.size();) {
    if (class_of(codes[at]) == 0) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < codes.size() && class_of(codes[end]) != 0) ++end;
    std::stable_sort(codes.begin() + static_cast<ptrdiff_t>(at), codes.begin() + static_cast<ptrdiff_t>(end),
                     [&](uint32_t a, uint32_t b) { return class_of(a) < class_of(b); });
    at = end;
  }
}

namespace {

/// The composition of both; 0 if there is none.
uint32_t pair_of(uint32_t first, uint32_t second) {
  if (first >= kLeads && first < kLeads + kLeadCount && second >= kVowels && second < kVowels + kVowelCount)
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
  if (first >= kSyllables && first < kSyllables + kSyllableCount && (first - kSyllables) % kTailCount == 0 &&
      second > kTails && second < kTails + kTailCount)
    return first + (second - kTails);
  const auto& pairs = tables().pairs;
  const auto found = pairs.find(static_cast<uint64_t>(first) << 32 | second);
  return found == pairs.end() ? 0 : found->second;
}

}  // namespace

void compose(std::vector<uint32_t>& codes) {
  size_t kept = 0, base = SIZE_MAX;
  int last = -1;  // class of the last mark kept after the base; -1 if none
  for (const uint32_t code : codes) {
    const int of = entry(code).mark_class;
    // A mark is not blocked (Unicode, definition D115) if no mark in between has this class or a
    // higher one.
    if (base != SIZE_MAX && last < of) {
      if (const uint32_t both = pair_of(codes[base], code)) {
        codes[base] = both;
        continue;
      }
    }
    if (of == 0) {
      base = kept;
      last = -1;
    } else {
      last = of;
    }
    codes[kept++] = code;
  }
  codes.resize(kept);
}

size_t grapheme_end(std::string_view text, size_t at) {
  Utf8Char before = char_at(text, at);
  at += before.length;
  bool picture =
      entry(before.code).grapheme_break == GraphemeBreak::kExtendedPictographic;  // a picture, with extends after it
  bool flag_open = entry(before.code).grapheme_break == GraphemeBreak::kRegionalIndicator;  // first half of a flag
  // A consonant, with extends and linkers after it.
  bool consonant = entry(before.code).conjunct_break == IndicConjunctBreak::kConsonant;
  bool linked = false;
  while (at < text.size()) {
    const Utf8Char next = char_at(text, at);
    const Entry &a = entry(before.code), &b = entry(next.code);
    const bool joins = (before.code == '\r' && next.code == '\n') || may_join_before(a, b) ||
                       (picture && before.code == 0x200d && b.grapheme_break == GraphemeBreak::kExtendedPictographic) ||
                       (flag_open && a.grapheme_break == GraphemeBreak::kRegionalIndicator &&
                        b.grapheme_break == GraphemeBreak::kRegionalIndicator) ||
                       (consonant && linked && b.conjunct_break == IndicConjunctBreak::kConsonant);
    if (!joins) break;
    flag_open = b.grapheme_break == GraphemeBreak::kRegionalIndicator &&
                !(flag_open && a.grapheme_break == GraphemeBreak::kRegionalIndicator);
    picture = b.grapheme_break == GraphemeBreak::kExtendedPictographic ||
              (picture && b.grapheme_break == GraphemeBreak::kExtend);
    if (b.conjunct_break == IndicConjunctBreak::kConsonant) {
      consonant = true;
      linked = false;
    } else if (b.conjunct_break == IndicConjunctBreak::kLinker) {
      linked = consonant;
    } else if (b.conjunct_break != IndicConjunctBreak::kExtend) {
      consonant = linked = false;
    }
    before = next;
    at += next.length;
  }
  return at;
}

}  // namespace forebay::unicode
