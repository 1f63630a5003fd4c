#include "format/table/schema_checks.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/suggest.h"

namespace forebay {

namespace {

constexpr OmissionReason kTwofoldNames{
    "twofold_names", "name is that of a column and of a struct or its member, and the column is read",
    "names are those of columns and of structs or their members, and the columns are read",
    "rename one of them where the table is written"};

}  // namespace

Status check_partition_names(const UniteInput& input) {
  for (const PartitionColumn& partition : input.partitions) {
    const bool masked = input.reading.nulls.kind == NullPolicy::Kind::kMask && partition.has_nulls();
    const std::string mask = partition.name + std::string(NullPolicy::kMaskEnding);
    for (size_t file = 0; file < input.files.size(); ++file) {
      if (masked && input.files[file]->schema().find(mask)) {
        return invalid_argument(fmt::format(
            "'{}' is a column of '{}', and what null=fb.NULL_MASK calls the mask that says where '{}' is null, which "
            "is the name of a folder; rename the column or the folder, or give null= a value",
            mask, input.names[file], partition.name));
      }
      if (!input.files[file]->schema().find(partition.name)) continue;
      return invalid_argument(fmt::format(
          "'{0}' is both a column of '{1}' and the name of its folder ('{0}=…'); rename the folder, or give "
          "the files as patterns that begin below it",
          partition.name, input.names[file]));
    }
  }
  return {};
}

bool is_partition(const UniteInput& input, const std::string& name) {
  return std::ranges::find(input.partitions, name, &PartitionColumn::name) != input.partitions.end();
}

Status check_option_names(const UniteInput& input, const KnownFields& known) {
  const auto check = [&](std::string_view argument, const std::string& name, bool structs) -> Status {
    if (known.find(name) != nullptr || is_partition(input, name)) return {};
    if (!structs && known.is_struct(name))
      return invalid_argument(fmt::format("{}= has a value for '{}', which is a struct; name its members, such as '{}'",
                                          argument, name, known.members(name).front()));
    if (known.is_struct(name)) return {};
    return invalid_argument(fmt::format("{}= has a value for the column '{}', which the table does not have{}",
                                        argument, name, suggestion_text(name, known.order())));
  };
  for (const auto& [name, value] : input.reading.nulls.by_column) FOREBAY_RETURN_IF_ERROR(check("null", name, true));
  for (const std::string& name : input.reading.nulls.masked) FOREBAY_RETURN_IF_ERROR(check("null", name, true));
  for (const auto& [name, type] : input.reading.types) FOREBAY_RETURN_IF_ERROR(check("types", name, false));
  return {};
}

Status no_readable_column(const UniteInput& input) {
  std::string why;
  for (const auto& [name, reason] : input.files.front()->unmapped()) why += fmt::format("; '{}': {}", name, reason);
  return unsupported(fmt::format("'{}' has no column that can be read{}", input.names.front(), why));
}

Status unknown_column(const UniteInput& input, const KnownFields& known, std::string_view argument,
                      const std::string& name) {
  for (size_t file = 0; file < input.files.size(); ++file) {
    if (known.first_alike(file) != file) continue;
    for (const auto& [unmapped, why] : input.files[file]->unmapped()) {
      if (unmapped == name || unmapped.starts_with(name + "."))
        return unsupported(fmt::format("{}: the column '{}' cannot be read: {}", argument, unmapped, why));
    }
  }
  std::vector<std::string> names = known.order();
  for (const PartitionColumn& partition : input.partitions) names.push_back(partition.name);
  const std::string nearest = suggestion_text(name, names);
  constexpr size_t kShown = 40;
  const bool long_list = names.size() > kShown;
  if (long_list) names.resize(kShown);
  return invalid_argument(fmt::format("{}: there is no column '{}'{}; there are: {}{}", argument, name, nearest,
                                      fmt::join(names, ", "), long_list ? ", …" : ""));
}

void warn_twofold_names(const UniteInput& input, const KnownFields& known) {
  if (input.warnings == nullptr) return;
  std::set<std::string> names;
  for (size_t file = 0; file < input.files.size(); ++file) {
    if (known.first_alike(file) != file) continue;
    for (const auto& [name, why] : input.files[file]->unmapped()) {
      if (known.find(name) != nullptr) names.insert(name);
    }
  }
  for (const std::string& name : known.order()) {
    if (known.is_struct(name)) names.insert(name);
  }
  for (const std::string& name : names) input.warnings->add(kTwofoldNames, name);
}

}  // namespace forebay
