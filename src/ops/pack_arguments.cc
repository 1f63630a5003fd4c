#include "ops/pack_arguments.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr const char* kLabels = "labels";
constexpr const char* kSegments = "segments";
constexpr const char* kPositions = "positions";
// The label that losses leave out, in PyTorch and in what is built on it.
constexpr double kIgnored = -100;

constexpr std::array kRules{std::pair<std::string_view, PackingRule>{"first-fit", PackingRule::kFirstFit},
                            std::pair<std::string_view, PackingRule>{"best-fit", PackingRule::kBestFit},
                            std::pair<std::string_view, PackingRule>{"cut", PackingRule::kCut}};
// An error is found before anything is packed: no sequence is left that is dropped.
constexpr std::array kLong{std::pair<std::string_view, LongSequence>{"split", LongSequence::kSplit},
                           std::pair<std::string_view, LongSequence>{"left", LongSequence::kLeft},
                           std::pair<std::string_view, LongSequence>{"right", LongSequence::kRight},
                           std::pair<std::string_view, LongSequence>{"drop", LongSequence::kDrop},
                           std::pair<std::string_view, LongSequence>{"error", LongSequence::kDrop}};

template <class Words>
const auto* find_word(const Words& words, std::string_view word) {
  const auto found = std::ranges::find_if(words, [&](const auto& one) { return one.first == word; });
  return found == words.end() ? nullptr : &found->second;
}

template <class Words>
void check_word(const Args& args, const char* name, const Words& words, Problems& problems) {
  if (find_word(words, args.text(name)) != nullptr) return;
  std::string all;
  for (const auto& [word, value] : words) all += fmt::format("{}\"{}\"", all.empty() ? "" : ", ", word);
  problems.add(fmt::format("{} is \"{}\"", name, args.text(name)), "give one of " + all);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// The value of an argument for a field: the one that it names, or the one for all if `for_all`.
std::optional<double> value_of(const Args& args, const char* name, const std::string& field, bool for_all) {
  const Json& value = args.json(name);
  if (value.is_number() && for_all) return value.get<double>();
  if (!value.is_object()) return std::nullopt;
  const auto found = value.find(field);
  return found != value.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

// The fields of blocks that may be shifted and padded: the packed ones, and labels if they are
// made.
std::vector<std::string> element_fields(const Args& args) {
  std::vector<std::string> names = PackArguments(args).fields();
  const Json& shift = args.json("shift");
  if (!contains(names, kLabels) && (shift.is_number() || (shift.is_object() && shift.contains(kLabels))))
    names.push_back(kLabels);
  return names;
}

void check_at_least_one(const Args& args, const char* name, Problems& problems) {
  if (args.has(name) && args.integer(name) < 1)
    problems.add(fmt::format("{} is {}", name, args.integer(name)), "give at least 1");
}

void check_lengths(const Args& args, Problems& problems) {
  // Segments and positions are int32.
  constexpr int64_t kLongest = (int64_t{1} << 31) - 1;
  const Json& lengths = args.json("length");
  const std::string main = args.text("field");
  if (lengths.is_object() && lengths.size() > 1 && !lengths.contains(main))
    return problems.add(fmt::format("field is '{}', and length has no such field", main),
                        "give field=: the name of the one with the tokens");
  const PackArguments pack(args);
  const int64_t length = pack.length();
  if (length < 1 || length > kLongest)
    problems.add(fmt::format("length is {}", length), fmt::format("give 1 to {}", kLongest));
  if (!lengths.is_object()) return;
  for (const auto& [name, other] : lengths.items()) {
    if (other.get<int64_t>() != length)
      problems.add(fmt::format("the length of '{}' is {}, and that of '{}' is {}", pack.fields().front(), length, name,
                               other.get<int64_t>()),
                   "give all fields one length: they stand side by side");
  }
}

void check_names(const Args& args, Problems& problems) {
  const std::vector<std::string> names = element_fields(args), packed = PackArguments(args).fields();
  const SegmentEnds made;
  for (const std::string& name : packed) {
    const bool taken = name == kSegments || name == kPositions ||
                       (PackArguments(args).segment_ends() && (name == made.ends || name == made.longest));
    if (taken)
      problems.add(fmt::format("the field is called '{}', as one that this step makes", name),
                   "give it another name, with .rename");
  }
  for (const char* arg : {"eos", "shift", "pad_value"}) {
    const Json& by_field = args.json(arg);
    const std::vector<std::string>& known = std::string_view(arg) == "eos" ? packed : names;
    if (!by_field.is_object()) continue;
    for (const auto& [name, value] : by_field.items()) {
      if (!contains(known, name))
        problems.add(fmt::format("{} names '{}', which is not packed", arg, name),
                     "the fields of the blocks are " + quoted_list(known));
    }
  }
}

void check_shifts(const Args& args, Problems& problems) {
  if (args.json("shift").is_number() && PackArguments(args).fields().front() == kLabels)
    problems.add("shift is for the labels of the tokens, and the main field is called 'labels'",
                 "give field=: the name of the one with the tokens; or shift={\"labels\": n}");
  const int64_t length = PackArguments(args).length();
  for (const auto& [from, field] : PackArguments(args).block_fields()) {
    if (field.shift < 0 || field.shift >= length)
      problems.add(fmt::format("the shift of '{}' is {}", field.name, field.shift),
                   "give 0 or more, and less than length; 1 is for the next token");
  }
}

void check_limits(const Args& args, Problems& problems) {
  if (!args.has("limits")) return;
  const std::string how = args.text("how");
  if (!args.json("limits").is_object() || args.json("limits").empty())
    return problems.add(fmt::format("limits is {}", json_text(args.json("limits"))),
                        "give the most of a block by field: limits={\"patches\": 1024}");
  const std::vector<std::string> packed = PackArguments(args).fields();
  for (const auto& [name, most] : PackArguments(args).limits()) {
    if (most < 1 || most > UINT32_MAX)
      problems.add(fmt::format("the limit of '{}' is {}", name, most), "give 1 to 2^32 - 1");
    if (contains(packed, name))
      problems.add(fmt::format("limits names '{}', which is packed", name),
                   "leave it out: a block has length of its elements");
  }
  if (how == "cut" || args.text("too_long") == "split")
    problems.add("limits is for whole rows, and rows are split here",
                 how == "cut" ? "give how=\"best-fit\" and too_long=\"drop\" or \"error\""
                              : "give too_long=\"drop\", \"error\", \"right\" or \"left\"");
}

void check_rule(const Args& args, Problems& problems) {
  const std::string arrange = args.has("arrange") ? args.text("arrange") : "";
  if (args.has("arrange") && arrange != "once" && arrange != "epoch")
    problems.add(fmt::format("arrange is \"{}\"", arrange), "give one of \"once\", \"epoch\"");
  check_word(args, "how", kRules, problems);
  check_word(args, "too_long", kLong, problems);
  for (const char* name : {"open_blocks", "window", "max_segments"}) check_at_least_one(args, name, problems);
  const std::string how = args.text("how");
  if (how == "cut" && args.has("max_segments"))
    problems.add("max_segments is for blocks that are filled, and how=\"cut\" takes rows as they come",
                 "leave it out, or give how=\"best-fit\"");
  const PackingOptions otherwise;
  if (how != "first-fit" && args.integer("open_blocks") != otherwise.open_blocks)
    problems.add(fmt::format("open_blocks is for how=\"first-fit\", and how is \"{}\"", how),
                 how == "best-fit" ? "leave it out; window says which rows share blocks" : "leave it out");
  if (how != "best-fit" && args.integer("window") != otherwise.window && arrange != "epoch")
    problems.add(fmt::format("window is for how=\"best-fit\", and how is \"{}\"", how),
                 "leave it out; with arrange=\"epoch\" it is for all rules");
}

}  // namespace

std::vector<std::string> PackArguments::fields() const {
  const Json& field = args_.json("field");
  std::string main = field.is_string() ? field.get<std::string>() : std::string();
  const Json& lengths = args_.json("length");
  if (!lengths.is_object() || lengths.empty()) return {main};
  if (lengths.size() == 1) main = lengths.begin().key();
  std::vector<std::string> names{main};
  for (const auto& [name, length] : lengths.items())
    if (name != main) names.push_back(name);
  return names;
}

std::vector<NamedBlockField> PackArguments::block_fields() const {
  const std::vector<std::string> packed = fields();
  const std::string& main = packed.front();
  std::vector<NamedBlockField> made;
  for (const std::string& name : element_fields(args_)) {
    const bool is_main = name == main, is_labels = name == kLabels && !is_main;
    BlockField field{.name = name};
    field.shift = static_cast<int64_t>(value_of(args_, "shift", name, is_labels).value_or(0));
    field.pad = value_of(args_, "pad_value", name, !is_labels).value_or(is_labels ? kIgnored : 0);
    field.appended = value_of(args_, "eos", name, is_main || is_labels);
    made.push_back({contains(packed, name) ? name : main, field});
  }
  // Labels that are made of the main field continue as that does.
  for (NamedBlockField& one : made)
    if (one.from == main) one.field.appended = made.front().field.appended;
  made.push_back({main, {.name = kSegments, .value = BlockValue::kSegments}});
  made.push_back({main, {.name = kPositions, .value = BlockValue::kPositions}});
  return made;
}

std::optional<SegmentEnds> PackArguments::segment_ends() const {
  const Json& wanted = args_.json("cu_seqlens");
  if (!wanted.is_boolean() || !wanted.get<bool>()) return std::nullopt;
  SegmentEnds ends;
  // The 0 in front, and the padding, which is one more segment.
  if (args_.json("max_segments").is_number_integer()) ends.entries = args_.integer("max_segments") + 2;
  return ends;
}

std::vector<std::pair<std::string, int64_t>> PackArguments::limits() const {
  std::vector<std::pair<std::string, int64_t>> limits;
  const Json& given = args_.json("limits");
  if (!given.is_object()) return limits;
  for (const auto& [name, most] : given.items())
    if (most.is_number_integer()) limits.emplace_back(name, most.get<int64_t>());
  return limits;
}

int64_t PackArguments::length() const {
  const Json& length = args_.json("length");
  return length.is_object() ? length.at(fields().front()).get<int64_t>() : length.get<int64_t>();
}

PackingOptions PackArguments::packing() const {
  PackingOptions options{
      .length = length(), .open_blocks = args_.integer("open_blocks"), .window = args_.integer("window")};
  options.rule = *find_word(kRules, args_.text("how"));
  options.too_long = *find_word(kLong, args_.text("too_long"));
  if (args_.has("max_segments")) options.max_segments = args_.integer("max_segments");
  return options;
}

void check_pack_arguments(const Args& args, Problems& problems) {
  check_rule(args, problems);
  check_lengths(args, problems);
  if (problems.any()) return;
  check_limits(args, problems);
  check_names(args, problems);
  check_shifts(args, problems);
}

}  // namespace forebay
