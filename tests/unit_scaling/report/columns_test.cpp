#include "report/columns.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

constexpr int column_count = static_cast<int>(Column::busbw) + 1;

// A median of 1 s of 1 GB by two ranks, for which the factor of all-reduce is 1.
Results one_measurement() {
    Results results;
    results.nodes = {{"n1", 2, {}, {}}};
    results.groups = {{Group::Kind::nodes, {0}, 2, 1}};
    results.measurements = {{0, Collective::all_reduce, DataType::f32, true, 1000000000,
                             Statistics{1, 2, 3, 4, 5, 0.06, 7, 8}}};
    return results;
}

std::string shown(Column column) {
    const Results results = one_measurement();
    const ColumnRow& row = row_of(column);
    return text_of(row, row.value(results, results.measurements[0]));
}

TEST(Columns, EachHasItsRow) {
    for (int i = 0; i < column_count; ++i) {
        EXPECT_EQ(row_of(static_cast<Column>(i)).column, static_cast<Column>(i));
    }
}

TEST(Columns, PeopleReadTheirUnits) {
    EXPECT_EQ(shown(Column::group), "1 node");
    EXPECT_EQ(shown(Column::in_place), "in");
    EXPECT_EQ(shown(Column::bytes), "1000000000");
    EXPECT_EQ(shown(Column::median), "1000000.00");
    EXPECT_EQ(shown(Column::mean), "8000000.00");
    EXPECT_EQ(shown(Column::p5), "3000000.00");
    EXPECT_EQ(shown(Column::p95), "4000000.00");
    EXPECT_EQ(shown(Column::p99), "5000000.00");
    EXPECT_EQ(shown(Column::cv), "6.0");
    EXPECT_EQ(shown(Column::algbw), "1.00");
    EXPECT_EQ(shown(Column::busbw), "1.00");
}

}  // namespace
}  // namespace distgpu::scaling
