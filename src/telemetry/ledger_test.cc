#include "forebay/ledger.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace forebay {
namespace {

using LedgerJson = nlohmann::ordered_json;

Ledger one_of_each() {
  Ledger ledger;
  ledger.steps.push_back({.name = "resize", .samples = 3, .bytes_in = 4});
  ledger.parts.push_back({.name = "web", .samples = 3});
  ledger.stores.push_back({.name = "s3://bucket/", .requests = 2, .hedges = 1});
  ledger.stores.back().read_bytes = {{4, 16}, {1, 0, 2}, 100};
  ledger.caches.resize(1);
  ledger.memory_peak = 77;
  ledger.chunks = {2, 0, 2};
  ledger.stream.emplace().partitions.resize(1);
  ledger.rehearsal.emplace();
  return ledger;
}

/// Names of figures, after those of their groups: "stores.name".
void names_of(const LedgerJson& figures, const std::string& within, std::set<std::string>& names) {
  for (const LedgerJson& one : figures) {
    const std::string name = within + one["name"].get<std::string>();
    if (one.contains("figures"))
      names_of(one["figures"], name + ".", names);
    else
      names.insert(name);
  }
}

void keys_of(const LedgerJson& value, const std::string& name, std::set<std::string>& names) {
  const bool histogram = value.is_object() && value.contains("bounds");
  const bool tally = name.ends_with("decoded_times");
  if (value.is_array() && !histogram) {
    for (const LedgerJson& one : value) keys_of(one, name, names);
  } else if (value.is_object() && !histogram && !tally) {
    for (const auto& [key, one] : value.items()) keys_of(one, name.empty() ? key : name + "." + key, names);
  } else {
    names.insert(name);
  }
}

TEST(Ledger, json_has_what_the_schema_says_and_nothing_else) {
  std::set<std::string> said, had;
  names_of(LedgerJson::parse(ledger_schema())["figures"], "", said);
  keys_of(LedgerJson::parse(to_json(one_of_each())), "", had);
  EXPECT_EQ(had, said);
}

TEST(Ledger, json_has_the_values) {
  const LedgerJson json = LedgerJson::parse(to_json(one_of_each()));
  EXPECT_EQ(json["version"], kLedgerVersion);
  EXPECT_EQ(json["steps"][0]["name"], "resize");
  EXPECT_EQ(json["steps"][0]["bytes_in"], 4);
  EXPECT_EQ(json["stores"][0]["hedges"], 1);
  EXPECT_EQ(json["stores"][0]["read_bytes"]["counts"], LedgerJson({1, 0, 2}));
  EXPECT_EQ(json["stores"][0]["read_bytes"]["count"], 3);
  EXPECT_EQ(json["memory_bytes"]["peak"], 77);
  EXPECT_EQ(json["chunks"]["decoded"], 4);
  EXPECT_EQ(json["chunks"]["decoded_times"], LedgerJson::parse(R"({"0": 1, "2": 2})"));
}

TEST(Ledger, only_tables_have_chunks) {
  Ledger ledger = one_of_each();
  ledger.chunks.clear();
  EXPECT_FALSE(LedgerJson::parse(to_json(ledger)).contains("chunks"));
}

TEST(Ledger, names_that_are_not_utf_8_do_not_break_the_json) {
  Ledger ledger = one_of_each();
  ledger.stores[0].name = "pictures/\xff/";
  EXPECT_EQ(LedgerJson::parse(to_json(ledger))["stores"][0]["name"], "pictures/\xef\xbf\xbd/");
}

/// Every figure with the names of its groups.
void check_units(const LedgerJson& figures, const std::string& within) {
  for (const LedgerJson& one : figures) {
    const std::string name = within + one["name"].get<std::string>();
    EXPECT_FALSE(one["help"].get<std::string>().empty()) << name;
    if (one.contains("figures")) {
      check_units(one["figures"], name + ".");
      continue;
    }
    const std::string unit = one["unit"];
    for (const std::string measured : {"bytes", "seconds"}) {
      EXPECT_EQ(name.find(measured) != std::string::npos, unit == measured) << name << " is in '" << unit << "'";
    }
  }
}

TEST(Ledger, bytes_and_seconds_stand_in_the_names_of_what_is_measured_in_them) {
  check_units(LedgerJson::parse(ledger_schema())["figures"], "");
}

}  // namespace
}  // namespace forebay
