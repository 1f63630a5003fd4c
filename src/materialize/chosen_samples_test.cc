#include "materialize/chosen_samples.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "format/table/open_table_test_support.h"
#include "loader/open_source.h"
#include "materialize/kept_samples.h"
#include "pipeline/description.h"
#include "study/study_test_support.h"

namespace forebay {
namespace {

using table_test::Opening;
using table_test::rows_of;
using table_test::table;

std::shared_ptr<const Source> ten_numbers() {
  return *open_source(numbers(10).description().steps().front(), OpenSourceOptions());
}

TEST(ChosenSamples, AreThoseOfTheDataSetUnderNewNumbers) {
  const auto all = ten_numbers();
  const auto chosen = chosen_of(all, {2, 3, 9});
  EXPECT_EQ(chosen->size(), 3);
  EXPECT_EQ(chosen->version(), all->version());
  for (const auto& [number, id] : {std::pair<int64_t, int64_t>{0, 2}, {1, 3}, {2, 9}}) {
    EXPECT_EQ(chosen->key(number), all->key(id));
    EXPECT_EQ(chosen->identity(number), all->identity(id));
    Record got, wanted;
    ASSERT_TRUE(chosen->load(number, {}, got).ok());
    ASSERT_TRUE(all->load(id, {}, wanted).ok());
    EXPECT_EQ(*got[0].tensor.data<float>(), *wanted[0].tensor.data<float>());
  }
}

TEST(ChosenSamples, OfATableAreUnits) {
  Opening opening;
  opening.put("t/a.parquet", table(0, {2, 3, 1}));
  opening.put("t/b.parquet", table(100, {4}));
  const auto all = *opening.open("t/*.parquet");
  const auto chosen = std::dynamic_pointer_cast<const UnitSource>(chosen_of(all, {1, 3}));
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->units(), 2);
  EXPECT_EQ(chosen->size(), 7);
  EXPECT_EQ(chosen->unit_begin(1), 3);
  EXPECT_EQ(chosen->key(0), all->key(2));
  EXPECT_EQ(chosen->key(6), all->key(9));
  EXPECT_EQ(chosen->unit_name(1), all->unit_name(3));
  std::vector<std::string> wanted = rows_of(*all);
  wanted.erase(wanted.begin() + 5);
  wanted.erase(wanted.begin(), wanted.begin() + 2);
  EXPECT_EQ(rows_of(*chosen), wanted);
  const std::vector<std::string> names{"t"};
  EXPECT_EQ((*chosen->with_fields(names))->schema().names(), "t");
}

TEST(Origins, CountWhatIsToBeMadeByItself) {
  const Origins all;
  EXPECT_FALSE(all.any_kept());
  EXPECT_FALSE(all.kept(5));
  EXPECT_EQ(all.rank(5), 5);
  const Origins some(6, [](int64_t number) { return number % 2 == 0 ? std::optional(number + 10) : std::nullopt; });
  EXPECT_TRUE(some.any_kept());
  EXPECT_EQ(some.kept(4), 14);
  EXPECT_FALSE(some.kept(3));
  EXPECT_EQ(some.fresh(), (std::vector<int64_t>{1, 3, 5}));
  EXPECT_EQ(some.rank(3), 1);
  EXPECT_EQ(some.rank(4), 2);
  EXPECT_EQ(all.kept_rows(0, 6, {}), 0);
  EXPECT_EQ(some.kept_rows(1, 5, {}), 2);
  const std::vector<int64_t> units{0, 3, 4, 4, 10, 11, 12};
  EXPECT_EQ(some.kept_rows(0, 12, units), 3 + 0 + 1) << "units 0, 2 and 4";
  EXPECT_EQ(some.kept_rows(3, 11, units), 1);
}

}  // namespace
}  // namespace forebay
