#include "loader/describe/zip_source.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <ranges>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "base/whole_number.h"
#include "base/work_memory.h"
#include "format/joined/held_rows.h"
#include "format/joined/join_rows.h"
#include "format/joined/joined_chunks.h"
#include "format/joined/joined_samples.h"
#include "format/joined/part_of_source.h"
#include "loader/describe/check.h"
#include "loader/describe/given_args.h"
#include "loader/describe/sources.h"
#include "loader/describe/step_arguments.h"
#include "ops/definition/args.h"
#include "pipeline/catalog.h"
#include "pipeline/part_fields.h"

namespace forebay {

namespace {

constexpr int64_t kMaxPairs = int64_t{1} << 53;

// Largest part that is held in memory.
constexpr uint64_t kMostHeldBytes = uint64_t{4} << 30;

constexpr const char* kByKey = "key";

Json zip_arg(const OpSpec& source, const char* name) { return source.args.value(name, Json()); }

void check_word(const OpSpec& source, const char* name, const char* other, Problems& problems) {
  const Json value = zip_arg(source, name);
  if (!value.is_string() || value == "error" || value == other) return;
  problems.add(fmt::format("{} is {}", name, json_text(value)), fmt::format("give one of 'error', '{}'", other));
}

// "ant/1.jpg" → "ant/1".
std::string without_extension(std::string path) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  if (dot != std::string::npos && dot > name) path.resize(dot);
  return path;
}

// Makes the joined source of opened parts.
class ZipOpener {
 public:
  ZipOpener(const OpSpec& source, const OpenSourceOptions& options) : source_(source), options_(options) {}

  Result<std::shared_ptr<const Source>> run() {
    FOREBAY_RETURN_IF_ERROR(open_parts());
    FOREBAY_RETURN_IF_ERROR(hold_chunks());
    return joined(
        /*is_chosen=*/std::ranges::none_of(source_.parts, [&](const PipelinePart& part) { return leaves_out(part); }));
  }

  Result<std::shared_ptr<const Source>> run_again(const Source& opened, const ChosenInParts& chosen) {
    for (const PipelinePart& part : source_.parts) {
      const JoinedPart& before = *find_joined_part(opened, part.name);
      // The earlier join's rows and numbers of draws are those of other samples.
      parts_.push_back({before.name, before.prefix, before.source, nullptr, before.drawn});
      if (const auto of_part = chosen.find(part.name); of_part != chosen.end())
        FOREBAY_RETURN_IF_ERROR(choose(of_part->second, parts_.back()));
      cuts_extensions_.push_back(cuts_extension(part));
    }
    chunked_ = opened.as_chunks() != nullptr;
    version_ = opened.version();
    return joined(/*is_chosen=*/true);
  }

 private:
  // Until its parts have chosen their samples, the pairs of a zip are unknown: all that is needed of
  // it are its fields.
  Result<std::shared_ptr<const Source>> joined(bool is_chosen) {
    const Json on = zip_arg(source_, "on");
    if (!is_chosen) {
      size_ = first().source->size();
      for (const JoinedPart& part : parts_) size_ = part.drawn ? size_ : std::min(size_, part.source->size());
    } else {
      FOREBAY_RETURN_IF_ERROR(on.is_null() ? match_positions() : match_values(on.get<std::string>()));
    }
    if (chunked_)
      return std::shared_ptr<const Source>(std::make_shared<JoinedChunks>(std::move(parts_), kept_, version_));
    FOREBAY_RETURN_IF_ERROR(number_draws(parts_, size_));
    return std::shared_ptr<const Source>(std::make_shared<JoinedSamples>(std::move(parts_), size_, version_));
  }

  bool leaves_out(const PipelinePart& part) const {
    return catalog().chooses_by_itself(source_, part) && !catalog().has_own_draws(source_, part);
  }

  // Names in tar files have none.
  static bool cuts_extension(const PipelinePart& part) { return part.pipeline.steps().front().name != "webdataset"; }

  static std::vector<int64_t> ids_of(const Selection& selection) {
    std::vector<int64_t> ids(static_cast<size_t>(selection.size()));
    std::iota(ids.begin(), ids.end(), int64_t{0});
    selection.ids_at(ids);
    return ids;
  }

  static Status choose(const ChosenInPart& chosen, JoinedPart& part) {
    const int64_t size = chosen.selection->size();
    if (size < part.source->size()) part.rows = packed_rows(ids_of(*chosen.selection));
    part.passes = chosen.passes;
    if (part.passes <= kMaxPairs / std::max<int64_t>(size, 1)) return {};
    return invalid_argument(
        fmt::format("zip: the part '{}' has {} samples {} times, which are more than 2^53; repeat "
                    "it as often as the other parts need",
                    part.name, size, part.passes));
  }

  const JoinedPart& first() const { return parts_.front(); }
  bool first_repeats() const { return find_step(source_.parts.front().pipeline, OpEffect::kRepeating) != nullptr; }

  Status open_parts() {
    for (const PipelinePart& part : source_.parts) {
      if (part.pipeline.steps().empty()) return problems_as_status(check(Description(source_)));
      const OpSpec& own = part.pipeline.steps().front();
      FOREBAY_ASSIGN(std::shared_ptr<const Source> opened, open_source(own, options_));
      if (opened->as_samples() == nullptr && opened->as_chunks() == nullptr)
        return unsupported(fmt::format("zip: the part '{}' is no single data set", part.name));
      if (opened->as_chunks() != nullptr && opened->as_chunks()->kept_rows() != nullptr)
        return unsupported(
            fmt::format("zip: the part '{}' has a filter=, which would move its rows against those of "
                        "the other parts; leave it out, and put .filter() behind the zip",
                        part.name));
      cuts_extensions_.push_back(cuts_extension(part));
      parts_.push_back({part.name, name_in_zip(part.name, ""), std::move(opened)});
      parts_.back().drawn = catalog().has_own_draws(source_, part);
      if (parts_.back().object_lists() != nullptr && find_step(part.pipeline, OpEffect::kCaching) != nullptr)
        return unsupported(
            fmt::format("zip: a sample of the part '{}' is a list of objects, and a cache in a part has one of each; "
                        "put .cache() behind the zip",
                        part.name));
    }
    return {};
  }

  // Only the first part can be read in chunks, and only beside values in memory. The rows of a
  // decoded chunk have one sample of each other part, and so none that is drawn, and come once.
  Status hold_chunks() {
    const auto alone = [](const JoinedPart& part) {
      return part.drawn || (part.source->as_chunks() == nullptr && part.fetches());
    };
    chunked_ = first().source->as_chunks() != nullptr && !first_repeats() && std::ranges::none_of(parts_, alone);
    for (size_t part = chunked_ ? 1 : 0; part < parts_.size(); ++part) {
      if (const auto chunks = shared_as_chunks(parts_[part].source)) {
        FOREBAY_ASSIGN(parts_[part].source, held(parts_[part].name, chunks));
      }
    }
    return {};
  }

  Result<std::shared_ptr<const Source>> held(const std::string& part, std::shared_ptr<const ChunkSource> chunks) const {
    const uint64_t most = std::min(options_.memory.value_or(kMostHeldBytes), kMostHeldBytes);
    auto rows = HeldRows::read(std::move(chunks), most, options_.stop);
    if (rows.ok()) return std::shared_ptr<const Source>(std::move(*rows));
    if (rows.status().code() != Code::kOutOfBudget) return rows.status();
    const bool repeats = part == first().name && first_repeats();
    return out_of_budget(
        fmt::format("zip: the part '{}' is a table or tar that {}: {}; {}, or read fewer columns", part,
                    repeats ? "repeats" : "is not the first part, or that is beside files or draws",
                    rows.status().message(),
                    repeats ? "leave .repeat() out of it, or put it behind the zip"
                            : "put it first beside arrays and smaller tables"),
        rows.status().bytes_needed());
  }

  Status match_positions() {
    size_ = first().own_size();
    for (const JoinedPart& part : parts_) {
      const int64_t size = part.own_size();
      if (part.drawn || size == size_) continue;
      if (zip_arg(source_, "end") != "first")
        return invalid_argument(fmt::format(
            "zip: the part '{}' has {} samples and '{}' has {}; parts that are joined by position have as many; give "
            "on=\"key\" or a field to join them by, end=\"first\" to end with the shortest, or .sample() in '{}' to "
            "draw "
            "from it",
            first().name, first().own_size(), part.name, size, part.name));
      size_ = std::min(size_, size);
    }
    // Parts without chunks have the i-th of their chosen samples at i by themselves.
    if (!chunked_) return {};
    if (std::ranges::any_of(parts_, [](const JoinedPart& part) { return part.rows != nullptr; })) {
      match_chosen_positions();
    } else if (size_ < first().source->size()) {
      keep_only([&](int64_t id) { return id < size_; });
    }
    return {};
  }

  // The i-th chosen sample of each part.
  void match_chosen_positions() {
    JoinedRows matches;
    std::vector<size_t> numbers;  // of parts without draws
    for (size_t part = 0; part < parts_.size(); ++part) {
      if (parts_[part].drawn) continue;
      numbers.push_back(part);
      std::vector<int64_t>& rows = part == 0 ? matches.first : matches.others.emplace_back();
      for (int64_t i = 0; i < size_; ++i) rows.push_back(parts_[part].row(i));
    }
    set_matches(matches, numbers);
  }

  // Parts with draws of their own have no partners.
  Status match_values(const std::string& on) {
    std::vector<JoinedPart> parts;
    std::vector<size_t> numbers;  // of these among all parts
    for (size_t part = 0; part < parts_.size(); ++part) {
      if (parts_[part].drawn) continue;
      if (part > 0 && parts_[part].passes > 1)
        return invalid_argument(
            fmt::format("zip: the part '{}' has its samples {} times; only the first part may have several samples of "
                        "one value: leave .repeat() out of '{}'",
                        parts_[part].name, parts_[part].passes, parts_[part].name));
      parts.push_back(parts_[part]);
      parts.back().passes = 1;  // those of the first part are alike
      numbers.push_back(part);
    }
    if (chunked_) {
      const std::vector<std::string> field = {on};
      FOREBAY_RETURN_IF_ERROR(index_of(first(), on).status());
      FOREBAY_ASSIGN(const auto chunks, first().source->as_chunks()->with_fields(field));
      FOREBAY_ASSIGN(parts.front().source, held(first().name, chunks));
    }
    const auto value = [&](const JoinedPart& part, int64_t row) {
      return join_value(part, cuts_extensions_[numbers[static_cast<size_t>(&part - parts.data())]], on, row);
    };
    const bool drops = zip_arg(source_, "missing") == "drop";
    FOREBAY_ASSIGN(const JoinedRows matches, join_rows(parts, value, drops ? Unmatched::kDrop : Unmatched::kError));
    set_matches(matches, numbers);
    return {};
  }

  // `numbers`: of the parts that were matched, in one pass of the first of them.
  void set_matches(const JoinedRows& matches, const std::vector<size_t>& numbers) {
    if (chunked_) return spread(matches);
    const int64_t passes = first().passes;
    for (const size_t part : numbers) parts_[part].passes = passes;
    size_ = static_cast<int64_t>(matches.first.size()) * passes;
    const bool all = std::ranges::equal(matches.first, std::views::iota(int64_t{0}, first().source->size()));
    parts_.front().rows = all ? nullptr : packed_rows(matches.first);
    for (size_t i = 1; i < numbers.size(); ++i) parts_[numbers[i]].rows = packed_rows(matches.others[i - 1]);
  }

  // Ids of chunks number all rows, so rows without a partner keep theirs and are never chosen.
  void spread(const JoinedRows& matches) {
    const auto all = static_cast<size_t>(first().source->size());
    parts_.front().rows = nullptr;
    for (size_t part = 1; part < parts_.size(); ++part) {
      std::vector<int64_t> rows(all, 0);
      for (size_t i = 0; i < matches.first.size(); ++i)
        rows[static_cast<size_t>(matches.first[i])] = matches.others[part - 1][i];
      parts_[part].rows = packed_rows(rows);
      parts_[part].passes = 1;
    }
    if (matches.first.size() < all)
      keep_only([&](int64_t id) { return std::ranges::binary_search(matches.first, id); });
  }

  template <typename Keep>
  void keep_only(Keep keep) {
    const int64_t all = first().source->size();
    std::vector<uint64_t> bits(static_cast<size_t>((all + 63) / 64));
    for (int64_t id = 0; id < all; ++id)
      if (keep(id)) bits[static_cast<size_t>(id / 64)] |= uint64_t{1} << (id % 64);
    kept_ = std::make_shared<const std::vector<uint64_t>>(std::move(bits));
  }

  // The field by which a part is joined.
  static Result<size_t> index_of(const JoinedPart& part, const std::string& on) {
    const Schema& schema = part.source->schema();
    const std::optional<size_t> index = schema.find(on);
    if (schema.open_ended)
      return unsupported(
          fmt::format("zip: the fields of the part '{}' are known only once your data set was called for a sample; "
                      "join it by position, or write the values of '{}' to an array or a list",
                      part.name, on));
    if (!index)
      return invalid_argument(
          fmt::format("zip: the data set of the part '{}' has no field '{}'; it has {}. Join by "
                      "position, or on a field that all parts have",
                      part.name, on, schema.names()));
    // Those of chunks are decoded for this.
    if (schema[*index].fetched && part.source->as_chunks() == nullptr)
      return unsupported(
          fmt::format("zip: the field '{}' of the part '{}' is known only once its file is read; join on "
                      "one that a list, a table or an array gives",
                      on, part.name));
    return *index;
  }

  static Result<std::string> join_value(const JoinedPart& part, bool cuts_extension, const std::string& on,
                                        int64_t row) {
    FOREBAY_ASSIGN(const size_t index, index_of(part, on));
    Record record;
    FOREBAY_RETURN_IF_ERROR(part.source->as_samples()->load(row, Buffer(), record));
    Value& value = record[index];
    WorkMemory memory;
    FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
    if (value.kind == FieldKind::kText || value.kind == FieldKind::kBytes) {
      std::string text(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
      return on == kByKey && cuts_extension ? without_extension(std::move(text)) : text;
    }
    if (const std::optional<int64_t> number = whole_number(value)) return std::to_string(*number);
    return unsupported(fmt::format("zip: the field '{}' of the part '{}' is {}; join on text or on whole numbers", on,
                                   part.name, part.source->schema()[index].to_string()));
  }

  const OpSpec& source_;
  const OpenSourceOptions& options_;
  std::vector<JoinedPart> parts_;
  std::vector<bool> cuts_extensions_;  // of each part
  bool chunked_ = false;               // the result is a JoinedChunks
  int64_t size_ = 0;                   // of a JoinedSamples
  std::shared_ptr<const std::vector<uint64_t>> kept_;
  std::optional<Hash128> version_;  // of the same parts as they were opened
};

}  // namespace

std::vector<ArgDef> zip_arg_defs() {
  return {{"on", ArgType::kText, false, nullptr,
           "the field by which samples are joined; \"key\" is the path below the root without its extension. By "
           "position if not given",
           ArgForm::kNamed},
          {"missing", ArgType::kText, false, "error",
           "what becomes of samples of the first part without a partner in every other one: \"error\", or \"drop\"",
           ArgForm::kNamed},
          {"end", ArgType::kText, false, "error",
           "by position, for parts of unequal numbers of samples: \"error\", or \"first\": it ends with the shortest",
           ArgForm::kNamed}};
}

void check_zip(const OpSpec& source, std::vector<Problem>& found) {
  Problems problems(found);
  check_word(source, "missing", "drop", problems);
  check_word(source, "end", "first", problems);
  const Json on = zip_arg(source, "on");
  if (on == "") problems.add("on is empty", "give \"key\", the name of a field, or leave it out");
  if (on.is_null() && zip_arg(source, "missing") == "drop")
    problems.add("missing=\"drop\" is for parts that are joined on a field, and these are joined by position",
                 "give on=, or end=\"first\" for parts of unequal numbers of samples");
  if (!on.is_null() && zip_arg(source, "end") == "first")
    problems.add("end=\"first\" is for parts that are joined by position, and these are joined on a field",
                 "leave it out; missing=\"drop\" leaves out samples without a partner");
}

Json zip_args(const ZipSourceOptions& options) {
  return given_args({{"on", options.on.empty() ? Json() : Json(options.on)},
                     {"missing", options.missing == "error" ? Json() : Json(options.missing)},
                     {"end", options.end == "error" ? Json() : Json(options.end)}});
}

Schema announced_zip(const OpSpec& source) {
  Schema all;
  for (const PipelinePart& part : source.parts) {
    if (part.pipeline.steps().empty()) continue;
    const OpSpec& first = part.pipeline.steps().front();
    const Schema own = announced_schema(first);
    // A step of the part makes the fields of a data set of the user's.
    all.open_ended |= own.open_ended && !is_source(first, SourceKind::kUserCode);
    for (Field field : own) {
      field.name = name_in_zip(part.name, field.name);
      all.push_back(std::move(field));
    }
  }
  return all;
}

Result<std::shared_ptr<const Source>> open_zip(const OpSpec& source, const OpenSourceOptions& options) {
  return ZipOpener(source, options).run();
}

Result<std::shared_ptr<const Source>> join_chosen(const OpSpec& source, const Source& opened,
                                                  const ChosenInParts& chosen) {
  const OpenSourceOptions options;
  return ZipOpener(source, options).run_again(opened, chosen);
}

}  // namespace forebay
