#include "loader/describe/catalog_json.h"

#include <array>
#include <span>
#include <string_view>

#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

template <typename Enum>
std::string_view word(std::span<const std::string_view> words, Enum value) {
  return words[static_cast<size_t>(value)];
}

// All lists of words here follow the order of their enums.
constexpr std::array<std::string_view, 14> kEffects = {
    "content", "taking", "keys",     "selection",      "order",     "drawing", "repeating",
    "packing", "replay", "batching", "batch function", "collation", "caching", "buffering"};
constexpr std::array<std::string_view, 5> kRoles = {"none", "values", "choice", "names", "function"};
constexpr std::array<std::string_view, 4> kSourceKinds = {"samples", "table", "user code", "parts"};
constexpr std::array<std::string_view, 6> kGroups = {"general", "image", "column", "sound", "text", "stream"};
constexpr std::array<std::string_view, 24> kTypes = {
    "int",           "float",           "limit",          "bool",
    "text",          "text or none",    "path",           "file hash",
    "size",          "floats",          "range",          "low and high",
    "fields",        "dtype",           "bytes",          "number or word",
    "text by field", "int by field",    "float by field", "pairs",
    "scalar",        "values by field", "weights",        "json"};
constexpr std::array<std::string_view, 6> kArgUses = {"value", "place", "random", "run", "version", "disk bytes"};
constexpr std::array<std::string_view, 4> kForms = {"plain", "named", "list", "pairs"};
constexpr std::array<std::string_view, 3> kFaces = {"all", "python", "c++"};

Json describe(std::span<const ArgDef> args) {
  Json list = Json::array();
  for (const ArgDef& arg : args) {
    list.push_back({{"name", arg.name},
                    {"type", word(kTypes, arg.type)},
                    {"required", arg.required},
                    {"default", arg.default_value},
                    {"form", word(kForms, arg.form)},
                    {"use", word(kArgUses, arg.use)},
                    {"faces", word(kFaces, arg.faces)},
                    {"or_within", arg.or_within},
                    {"implied", arg.implied},
                    {"help", arg.help}});
  }
  return list;
}

// Faces take the parts of a source as an argument, by name or one after the other.
Json describe_parts(const SourceDef& def) {
  ArgDef parts = {"parts", ArgType::kJson, true, nullptr, "the pipelines by name"};
  if (!def.mixes_parts) {
    parts.form = ArgForm::kList;
    parts.help = "the pipelines in their order; in Python also by name, as arguments with names";
  }
  return describe(std::span<const ArgDef>(&parts, 1));
}

}  // namespace

Json describe_catalog() {
  Json operators = Json::array(), all_sources = Json::array();
  for (const auto& [name, def] : catalog().ops()) {
    if (def.made_by_sources) continue;
    operators.push_back({{"name", name},
                         {"group", word(kGroups, def.group)},
                         {"effect", word(kEffects, def.effect)},
                         {"role", word(kRoles, def.role)},
                         {"random", def.random},
                         {"function", def.function},
                         {"faces", word(kFaces, def.faces)},
                         {"help", def.help},
                         {"args", describe(def.args)}});
  }
  for (const SourceDef& def : sources()) {
    Json args = def.kind == SourceKind::kParts ? describe_parts(def) : Json::array();
    for (Json& arg : describe(def.args)) args.push_back(std::move(arg));
    all_sources.push_back(
        {{"name", def.name}, {"kind", word(kSourceKinds, def.kind)}, {"help", def.help}, {"args", std::move(args)}});
  }
  return {{"operators", std::move(operators)}, {"sources", std::move(all_sources)}};
}

}  // namespace forebay
