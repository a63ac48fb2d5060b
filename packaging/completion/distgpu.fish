# fish completion of the command distgpu: runs the bash completion, which is installed with it.
set --global __distgpu_engine (status dirname)/../../bash-completion/completions/distgpu

function __distgpu_candidates
    set --local words (commandline --cut-at-cursor --current-process --tokenize)
    set --append words (commandline --cut-at-cursor --current-token)
    bash $__distgpu_engine (string join ' ' -- $words) 2>/dev/null
end

complete --command distgpu --no-files --arguments '(__distgpu_candidates)'
