/* The page works without this script. It opens the round that a link points to, and adds a button
 * that copies the command. The build puts this file into the program (cmake/Embed.cmake). */
(function () {
    function openTarget() {
        var target = location.hash && document.getElementById(location.hash.slice(1));
        if (target && 'open' in target) { target.open = true; }
    }
    addEventListener('hashchange', openTarget);
    openTarget();

    var command = document.getElementById('command');
    if (!command || !navigator.clipboard) { return; }
    var text = command.textContent, button = document.createElement('button');
    button.className = 'copy';
    button.textContent = 'copy';
    button.onclick = function () {
        navigator.clipboard.writeText(text);
        button.textContent = 'copied';
    };
    command.appendChild(button);
})();
