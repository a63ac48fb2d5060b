// See channel.h: what the ranks tell each other, read.
#include "base/json_text.h"
#include "bootstrap/channel.h"

namespace distgpu::scaling {

std::optional<Error> read_answer(const std::vector<Peer>& peers, std::uint32_t rank,
                                 std::string_view text,
                                 const std::function<void(const JsonFields&)>& read) {
    const auto problem = read_json(text, read);
    if (!problem) return std::nullopt;
    return Error{names_of_peers(peers)(rank), "sent a malformed answer: " + problem->message(), ""};
}

Result<std::vector<std::vector<double>>> gather_numbers(Channel& channel,
                                                        const std::vector<double>& own) {
    const auto texts = channel.gather(JsonText{{"numbers", JsonText::list(own)}}.line());
    std::vector<std::vector<double>> numbers(texts.size());
    for (std::uint32_t rank = 0; rank < texts.size(); ++rank) {
        const auto error = read_answer(
            channel.peers(), rank, texts[rank],
            [&](const JsonFields& fields) { numbers[rank] = fields.numbers("numbers"); });
        if (error) return *error;
    }
    return numbers;
}

Result<std::vector<std::uint32_t>> broadcast_indices(Channel& channel,
                                                     const std::vector<std::uint32_t>& own,
                                                     std::size_t size) {
    const std::string text = channel.broadcast(JsonText{{"indices", JsonText::list(own)}}.line());
    std::vector<std::uint32_t> indices;
    const auto error = read_answer(channel.peers(), 0, text, [&](const JsonFields& fields) {
        indices = fields.indices("indices", size);
    });
    if (error) return *error;
    return indices;
}

}  // namespace distgpu::scaling
